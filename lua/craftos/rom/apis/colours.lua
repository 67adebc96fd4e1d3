-- colours: colors, in British English.
local colours = {}
for name, value in pairs(colors) do
  colours[name] = value
end
colours.grey, colours.gray = colours.gray, nil
colours.lightGrey, colours.lightGray = colours.lightGray, nil
return colours
