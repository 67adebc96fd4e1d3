-- exit
shell.exit()
