-- reboot
term.setTextColour(colours.yellow)
print("Goodbye")
term.setTextColour(colours.white)
sleep(1)
os.reboot()
