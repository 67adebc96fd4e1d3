package craftos

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{Files: fstest.MapFS{"a/b.txt": {Data: []byte("one\ntwo\r\n\nlast")}}}, `
		local f = fs.open("/a/b.txt", "r")
		same("one", f.readLine()) same("two\n", (f.readLine(true):gsub("\r", "")))
		same("", f.readLine()) same("la", f.read(2)) same("s", f.read()) same("t", f.readAll()) same("", f.readAll())
		same(nil, f.read()) same(nil, f.readLine()) same(0, f.seek("set")) same("o", f.read(1)) same(1, f.seek())
		f.close()
		fails("attempt to use a closed file", f.read) fails("attempt to use a closed file", f.close)

		local f = fs.open("new/dir/file", "w") f.write("x") f.writeLine(5) f.flush() f.close()
		local f = fs.open("new/dir/file", "a") f.write("end") f.close()
		local f = fs.open("new/dir/file", "rb") same(120, f.read()) same("5\nend", f.readAll()) f.close()
		local f = fs.open("new/dir/file", "r+") f.seek("set", 1) f.write("6") f.seek("set") same("x6\nend", f.readAll()) f.close()
		local f = fs.open("new/dir/file", "wb") f.write(0) f.write("\255\1") f.close()
		same(3, fs.getSize("new/dir/file"))

		local f, e = fs.open("none", "r") same(nil, f) same("/none: No such file", e)
		local f, e = fs.open("a", "r") same("/a: Not a file", e)
		local f, e = fs.open("a", "w") same("/a: Cannot write to directory", e)
		local f, e = fs.open("rom/x", "w") same("/rom/x: Access denied", e)
		local f, e = fs.open("none", "r+") same("/none: No such file", e)
		fails("Unsupported mode", fs.open, "x", "q")

		check(fs.exists("a/b.txt")) check(not fs.exists("a/c")) check(fs.isDir("a")) check(not fs.isDir("a/b.txt"))
		check(fs.isReadOnly("rom")) check(not fs.isReadOnly("a")) check(fs.isDriveRoot("rom")) check(fs.isDriveRoot(""))
		same("a,new,rom,startup.lua", table.concat(fs.list("/"), ","))
		fails("Not a directory", fs.list, "a/b.txt") fails("Not a directory", fs.list, "nowhere")
		same("c", fs.getName("a/b/c")) same("a/b", fs.getDir("a/b/c")) same("root", fs.getName("")) same("..", fs.getDir(""))
		same("a/c/d", fs.combine("a", "b/../c", "/d")) same("../x", fs.combine("..", "x")) same("", fs.combine("/"))
		same("hdd", fs.getDrive("a")) same("rom", fs.getDrive("rom/programs")) same(nil, fs.getDrive("none"))
		fails("Invalid Path", fs.list, "../..")
		local a = fs.attributes("a/b.txt") same(14, a.size) same(false, a.isDir) check(a.modified > 0)
		same("a/b.txt", fs.find("*/b.?xt")[1]) same("startup.lua", fs.find("start*")[1]) same(nil, fs.find("x*")[1])

		fs.copy("a", "copy") check(fs.exists("copy/b.txt"))
		fs.move("copy", "deep/er/moved") check(fs.exists("deep/er/moved/b.txt")) check(not fs.exists("copy"))
		fails("File exists", fs.move, "a/b.txt", "new/dir/file") fails("File exists", fs.copy, "a/b.txt", "new/dir/file")
		fails("No such file", fs.move, "none", "other") fails("Access denied", fs.move, "rom/startup.lua", "x")
		fails("Access denied", fs.copy, "a", "rom/x") fails("inside itself", fs.copy, "a", "a/b")
		fails("Access denied", fs.delete, "rom/startup.lua") fs.delete("none") fs.delete("a") check(not fs.exists("a"))
		fails("File exists", fs.makeDir, "new/dir/file") fs.makeDir("m/n") check(fs.isDir("m/n")) fs.makeDir("m/n")
		same("rograms/,rograms", table.concat(fs.complete("p", "rom"), ",", 1, 2))

		local open = {}
		for i = 1, 128 do open[i] = assert(fs.open("startup.lua", "r")) end
		local f, e = fs.open("startup.lua", "r") same("Too many files already open", e)
		for i = 1, 128 do open[i].close() end
	`)
}

func TestDiskIsBounded(t *testing.T) {
	t.Parallel()
	c := bootSnippet(t, Options{}, `
		local before = fs.getFreeSpace("/")
		same(1000000, fs.getCapacity("/")) same(nil, fs.getCapacity("rom")) same(0, fs.getFreeSpace("rom"))
		local f = fs.open("small", "w") f.write("x") f.close()
		same(before - 500, fs.getFreeSpace("/"))
		fs.makeDir("dir") same(before - 1000, fs.getFreeSpace("/"))
		fs.delete("small") fs.delete("dir") same(before, fs.getFreeSpace("/"))

		local f = fs.open("big", "w") f.write(("x"):rep(600000)) f.close()
		same(before - 600000, fs.getFreeSpace("/"))
		-- Opening truncates at once; a write that does not fit leaves nothing, and the old content is lost.
		local f = fs.open("big", "w")
		same(before - 500, fs.getFreeSpace("/")) same(0, fs.getSize("big"))
		fails("Out of space", f.write, ("x"):rep(1000000))
		f.close()
		same(0, fs.getSize("big"))
		fs.delete("big")
		local n = 0
		pcall(function() while true do fs.open("tiny" .. n, "w").close() n = n + 1 end end)
		check(n > 1990 and n < 2000, n)
		local f, e = fs.open("another", "w") same("/another: Out of space", e)
		fails("Out of space", fs.makeDir, "another")
		for _, p in ipairs(fs.find("tiny*")) do fs.delete(p) end
	`)
	if err := c.WriteFile("x", make([]byte, DefaultDiskBytes+1)); err == nil {
		t.Error("a file larger than the disk was written")
	}
}

func TestDirectoryOutlivesTheComputer(t *testing.T) {
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	if err := os.WriteFile(filepath.Join(dir, "outside"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := Options{Dir: disk, Files: fstest.MapFS{"seeded": {Data: []byte("first")}}, Settings: map[string]any{"my.setting": "v"}}
	bootSnippet(t, opts, `
		local f = fs.open("seeded", "w") f.write("changed") f.close()
		fs.makeDir("sub") fs.copy("seeded", "sub/copy") fs.move("sub/copy", "sub/moved")
		same("v", settings.get("my.setting"))
		fails("Invalid Path", fs.list, "../")
	`)
	if got, err := os.ReadFile(filepath.Join(disk, "sub", "moved")); err != nil || string(got) != "changed" {
		t.Errorf("on the host: %q, %v", got, err)
	}
	// The settings hold the gateway's password.
	for path, want := range map[string]os.FileMode{disk: 0o700, filepath.Join(disk, ".settings"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want && runtime.GOOS != "windows" {
			t.Errorf("%s: %v %v, want mode %v", path, info.Mode(), err, want)
		}
	}
	if err := os.Symlink("../outside", filepath.Join(disk, "link")); err != nil {
		t.Logf("no symbolic links here: %v", err)
	}
	opts.Settings = nil
	bootSnippet(t, opts, `
		same("changed", fs.open("seeded", "r").readAll())
		same("v", settings.get("my.setting"))
		same(nil, (fs.open("link", "r"))) same(nil, (fs.open("link", "w")))
		check(not fs.exists("link"))
		local free = fs.getFreeSpace("/") check(free < 1000000 - 2500 and free > 990000, free)
	`)
	if got, _ := os.ReadFile(filepath.Join(dir, "outside")); string(got) != "secret" {
		t.Errorf("outside is %q", got)
	}
}

func TestSettings(t *testing.T) {
	c := bootSnippet(t, Options{Settings: map[string]any{"cloud.url": "ws://h/gateway", "n": 5, "flag": true}}, `
		same("ws://h/gateway", settings.get("cloud.url")) same(5, settings.get("n")) same(true, settings.get("flag"))
		same("d", settings.get("none", "d")) same(nil, settings.get("none"))
		settings.define("defined", { default = 7, type = "number", description = "a number" })
		same(7, settings.get("defined")) same("a number", settings.getDetails("defined").description)
		fails("number expected", settings.set, "defined", "x")
		settings.set("table", { 1, { a = "b" } }) same("b", settings.get("table")[2].a)
		settings.unset("n") same(nil, settings.get("n"))
		check(settings.save()) settings.clear() same(nil, settings.get("flag"))
		check(settings.load()) same(true, settings.get("flag")) same("b", settings.get("table")[2].a)
		check(not settings.load("nowhere"))
		shell.run("set motd.enable true") same(true, settings.get("motd.enable"))
	`)
	if got, err := c.ReadFile(".settings"); err != nil || !strings.Contains(string(got), `[ "cloud.url" ] = "ws://h/gateway"`) {
		t.Errorf(".settings: %s, %v", got, err)
	}
}

func TestIO(t *testing.T) {
	bootSnippet(t, Options{}, `
		local f = assert(io.open("x", "w")) f:write("line 1\n", 2, "\nthree") f:close()
		same("closed file", io.type(f)) fails("closed", f.read, f)
		local f = io.open("x") same("line 1", f:read()) same(2, f:read("*n")) same("\nthree", f:read("a")) f:close()
		local lines = {} for l in io.lines("x") do lines[#lines + 1] = l end same("line 1,2,three", table.concat(lines, ","))
		same(nil, (io.open("none"))) io.write("out\n")
	`)
}
