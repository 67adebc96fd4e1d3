package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// style is a way to save `f` in the current directory, as a shell script. $NEW is the new content, different each time.
type style struct {
	name   string
	before string // run before the file is watched; the file is there already, with content of its own
	save   string
	path   string // what is watched; "": f
	times  int    // 0: three
}

var styles = []style{
	{name: "in place", save: `printf %s "$NEW" >f`},
	{name: "in place, in pieces", save: `: >f; printf %s "$NEW" >>f`},
	{name: "in place, longer than it was, then cut", save: `printf %sxxxxxxxxxxx "$NEW" >f; truncate -s ${#NEW} f`},
	{name: "rename over", save: `printf %s "$NEW" >.f.swp; mv .f.swp f`},
	{name: "rename over from another directory", before: `mkdir d`, save: `printf %s "$NEW" >d/f; mv d/f f`},
	{name: "backup by rename, then create", save: `mv f f~; printf %s "$NEW" >f; rm f~`},
	{name: "backup by link, then rename over", save: `ln f f~; printf %s "$NEW" >4913; mv 4913 f; rm f~`},
	{name: "unlink and create", save: `rm f; printf %s "$NEW" >f`},
	{name: "sed -i", save: `sed -i "s/.*/$NEW/" f`},
	{name: "cp over", save: `printf %s "$NEW" >g; cp g f`},
	{name: "cp over, keeping times", save: `printf %s "$NEW" >g; touch -d 2001-01-01 g; cp -p g f`},
	{name: "cp after unlink", save: `printf %s "$NEW" >g; cp --remove-destination g f`},
	{name: "install", save: `printf %s "$NEW" >g; install -m 600 g f`},
	{name: "tee", save: `printf %s "$NEW" | tee f >/dev/null`},
	{name: "hard link over", save: `printf %s "$NEW" >g; ln -f g f; rm g`},
	{name: "exchange of two files by name", save: `printf %s "$NEW" >g; mv f h; mv g f; mv h g`},
	{name: "symlink, target in place", before: `mkdir t; mv f t/g; ln -s t/g f`, save: `printf %s "$NEW" >t/g`},
	{name: "symlink, target renamed over", before: `mkdir t; mv f t/g; ln -s t/g f`, save: `printf %s "$NEW" >t/n; mv t/n t/g`},
	{
		name: "symlink moved", before: `mkdir t; mv f t/0; ln -s t/0 f`,
		save: `printf %s "$NEW" >"t/$NEW"; ln -s "t/$NEW" n; mv -T n f`,
	},
	{
		name: "symlink made anew", before: `mkdir t; mv f t/0; ln -s t/0 f`,
		save: `printf %s "$NEW" >"t/$NEW"; ln -sfn "t/$NEW" f`,
	},
	{name: "symlink to a file that comes into being", before: `rm f; ln -s t/u/g f`, save: `mkdir -p t/u; printf %s "$NEW" >t/u/g`, times: 1},
	{name: "symlink replaced by a file", before: `mkdir t; mv f t/g; ln -s t/g f`, save: `printf %s "$NEW" >n; mv n f`, times: 1},
	{
		name: "chain of links, the last target", before: `mkdir a b c; mv f c/g; ln -s "$PWD/c/g" b/g; ln -s ../b/g a/g; ln -s a/g f`,
		save: `printf %s "$NEW" >c/n; mv c/n c/g`,
	},
	{
		name: "chain of links, one in the middle", before: `mkdir a b c; mv f c/g; ln -s "$PWD/c/g" b/g; ln -s ../b/g a/g; ln -s a/g f`,
		save: `printf %s "$NEW" >"c/$NEW"; ln -s "../c/$NEW" b/n; mv -T b/n b/g`,
	},
	{
		name: "linked directory swapped", before: `mkdir v0; mv f v0/f; ln -s v0 d`, path: "d/f",
		save: `mkdir "v$NEW"; printf %s "$NEW" >"v$NEW/f"; ln -s "v$NEW" n; mv -T n d`,
	},
	{
		name: "kubernetes volume", before: `mkdir ..0; mv f ..0/f; ln -s ..0 ..data; ln -s ..data/f f`,
		save: `old=$(readlink ..data); mkdir "..$NEW"; printf %s "$NEW" >"..$NEW/f"; ln -s "..$NEW" ..data_tmp; mv -T ..data_tmp ..data; rm -r "$old"`,
	},
	{name: "directory made", before: `rm f`, path: "a/b/c/f", save: `mkdir -p a/b/c; printf %s "$NEW" >a/b/c/f`, times: 1},
	{name: "directory moved in", before: `rm f; mkdir -p x/b/c`, path: "a/b/c/f", save: `printf %s "$NEW" >x/b/c/f; mv x a`, times: 1},
	{name: "directory removed and made again", before: `mkdir d; mv f d`, path: "d/f", save: `rm -r d; mkdir d; printf %s "$NEW" >d/f`},
	{
		name: "directory removed and made again, somebody in it", before: `mkdir d; mv f d`, path: "d/f",
		save: `cd d; rm -r ../d; mkdir ../d; printf %s "$NEW" >../d/f`,
	},
	{name: "empty directory removed and made again", before: `mkdir d; rm f`, path: "d/f", save: `rmdir d; mkdir d; printf %s "$NEW" >d/f`, times: 1},
	{name: "directory swapped for another", before: `mkdir d; mv f d`, path: "d/f", save: `mkdir n; printf %s "$NEW" >n/f; mv d "o$NEW"; mv n d`},
	{name: "directory becomes a link", before: `mkdir d; mv f d`, path: "d/f", save: `mkdir n; printf %s "$NEW" >n/f; mv d o; ln -s n d`, times: 1},
	{name: "file where a directory was awaited", before: `rm f; touch a`, path: "a/f", save: `rm a; mkdir a; printf %s "$NEW" >a/f`, times: 1},
	{
		name: "git checkout", before: `git init -q .; git add f; git commit -q -m 0`,
		save: `git branch "b$NEW"; git checkout -q "b$NEW"; printf %s "$NEW" >g; git rm -q --cached f; rm f; mv g f; git add f; git commit -q -m x`,
	},
	{
		name:   "git switches branches",
		before: `git init -q -b main .; git add f; git commit -q -m 0; for n in 1 2 3; do git checkout -q -b b$n main; printf %s "new$n" >f; git commit -q -a -m $n; done; git checkout -q main`,
		save:   `git checkout -q "b${NEW#new}"`,
	},
	{name: "git stash pop", before: `git init -q .; git add f; git commit -q -m 0; printf new1 >f; git stash -q`, save: `git stash pop -q`, times: 1},
}

// unchanging are things that happen to a file or beside it, and are no save.
var unchanging = []style{
	{name: "touch", save: `touch f`},
	{name: "touch to another day", save: `touch -d 2001-01-01 f`},
	{name: "chmod", save: `chmod 640 f; chmod 600 f`},
	{name: "read", save: `cat f >/dev/null`},
	{name: "identical bytes in place", save: `cat f >g; cat g >f`},
	{name: "identical bytes by rename", save: `cp f g; mv g f`},
	{name: "identical bytes by unlink", save: `cp f g; rm f; cp g f`},
	{name: "moved away and back", save: `mv f g; mv g f`},
	{name: "hard link made and removed", save: `ln f g; rm g`},
	{name: "temporary files of neighbours", save: `for i in 1 2 3; do echo x >.f.swp; echo x >f~; mv .f.swp 4913; rm 4913 f~; done`},
	{name: "a link to the same bytes", save: `mkdir t; cp f t/f; ln -sf t/f f`, times: 1},
	{name: "directory moved away and back", before: `mkdir d; mv f d`, path: "d/f", save: `mv d e; mv e d`},
	{name: "directory copied and swapped", before: `mkdir d; mv f d`, path: "d/f", save: `cp -r d e; rm -r d; mv e d`},
	{name: "neighbours of a missing directory", before: `rm f`, path: "a/b/f", save: `mkdir -p a/c; touch a/f a/c/f; rm -r a`},
	{name: "git stash and pop of something else", before: `git init -q .; touch g; git add .; git commit -q -m 0`, save: `echo x >>g; git stash -q; git stash pop -q`},
}

// shell runs a script in dir.
func shell(t testing.TB, dir, script, content string) {
	t.Helper()
	if script == "" {
		return
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"NEW="+content, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// prepare makes the files of a style in a new directory and watches them with events only, a sentinel beside them.
func prepare(t *testing.T, s style) (r *rig, dir, path, sentinel string) {
	t.Helper()
	dir = realDir(t)
	write(t, filepath.Join(dir, "f"), "old")
	shell(t, dir, s.before, "old")
	path = filepath.Join(dir, "f")
	if s.path != "" {
		path = filepath.Join(dir, s.path)
	}
	sentinel = filepath.Join(realDir(t), "sentinel")
	return start(t, Options{}, eventsOnly, path, sentinel), dir, path, sentinel
}

func (s style) rounds() int {
	if s.times == 0 {
		return 3
	}
	return s.times
}

// TestStyles saves a file in every style there is, several times, with nothing but events to tell. Each save is reported once: the
// sentinel, saved afterwards, is what is reported next, and alone.
func TestStyles(t *testing.T) {
	for _, s := range styles {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r, dir, path, sentinel := prepare(t, s)
			for i := range s.rounds() {
				content := fmt.Sprintf("new%d", i+1)
				shell(t, dir, s.save, content)
				r.expect(path)
				if got, err := os.ReadFile(path); err != nil || string(got) != content {
					t.Fatalf("the style itself does not work: %q, %v", got, err)
				}
				write(t, sentinel, content)
				r.expect(sentinel)
				r.Poke() // a file that is touched while it is told is told again (see doubt): let that be over
			}
			r.silent()
		})
	}
}

// TestUnchanging does what is no save: only the sentinel is reported.
func TestUnchanging(t *testing.T) {
	for _, s := range unchanging {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r, dir, _, sentinel := prepare(t, s)
			for i := range s.rounds() {
				shell(t, dir, s.save, "new")
				write(t, sentinel, fmt.Sprint(i))
				r.expect(sentinel)
				r.Poke() // a file that is touched while it is told is told again (see doubt): let that be over
			}
			r.silent()
		})
	}
}
