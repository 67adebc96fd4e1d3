-- luacheck, for programs that run on CC:Tweaked and stay in the common subset of Lua 5.1 and 5.2.
std = "lua51+lua52"
max_line_length = 128
exclude_files = { "craftos/**" }

read_globals = {
  "colors", "colours", "commands", "fs", "gps", "http", "keys", "multishell", "parallel", "peripheral", "pocket",
  "printError", "read", "redstone", "settings", "shell", "sleep", "term", "textutils", "turtle", "window", "write", "_HOST",
}

-- CC adds to os, and libsandbox replaces some functions in place while executed code runs.
globals = { "os", "_G" }
ignore = { "212/_.*" }
