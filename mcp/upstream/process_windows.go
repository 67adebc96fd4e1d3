package upstream

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tree is a job object that ends with its last handle, ours: also when we are killed.
type tree struct {
	job windows.Handle
}

// start starts cmd inside a new job object. The child is created suspended, put into the job and only then let run, so
// that nothing it starts can be outside. It gets no console window.
func (t *tree) start(cmd *exec.Cmd) error {
	job, err := newJob()
	if err != nil {
		return err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if line, ok := strings.CutPrefix(cmd.Args[len(cmd.Args)-1], batchLine); ok {
		cmd.SysProcAttr.CmdLine = line
	}
	cmd.SysProcAttr.HideWindow = true
	cmd.SysProcAttr.CreationFlags = windows.CREATE_SUSPENDED | windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	t.job = job
	if err := t.adopt(uint32(cmd.Process.Pid)); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return err
	}
	return nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("making a job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("setting up a job object: %w", err)
	}
	return job, nil
}

// adopt puts the suspended process into the job and lets it run.
func (t *tree) adopt(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return fmt.Errorf("opening the child process: %w", err)
	}
	defer func() { _ = windows.CloseHandle(process) }()
	if err := windows.AssignProcessToJobObject(t.job, process); err != nil {
		return fmt.Errorf("putting the child process into its job object: %w", err)
	}
	return resume(pid)
}

// resume lets the threads of a suspended process run; a new one has exactly one.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("listing threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("opening the child's thread: %w", err)
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		return err
	}
	return errors.New("the child process has no thread")
}

// await returns at once: a job object keeps its members however the child ends.
func (t *tree) await(cmd *exec.Cmd) {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(cmd.Process.Pid))
	if err != nil {
		return
	}
	_, _ = windows.WaitForSingleObject(process, windows.INFINITE)
	_ = windows.CloseHandle(process)
}

func (t *tree) reap(cmd *exec.Cmd) error { return cmd.Wait() }

// terminate does nothing: a process without a console has no signal to be asked with; the closed stdin has asked already.
func (t *tree) terminate() {}

func (t *tree) kill() { _ = windows.TerminateJobObject(t.job, 1) }

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	totalUserTime, totalKernelTime           int64
	periodUserTime, periodKernelTime         int64
	pageFaults, processes, active, terminate uint32
}

// jobAccountingClass is the number of JobObjectBasicAccountingInformation.
const jobAccountingClass = 1

// remains reports whether the job has members.
func (t *tree) remains(string) bool {
	var info jobAccounting
	err := windows.QueryInformationJobObject(t.job, jobAccountingClass,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.active > 0
}

// release ends what is left in the job.
func (t *tree) release(string) {
	t.kill()
	_ = windows.CloseHandle(t.job)
}

func endOf(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exited (code 0)"
	case errors.As(err, &exit):
		return fmt.Sprintf("exited (code %d)", exit.ExitCode())
	}
	return "ended"
}

// batchLine marks an argument that is a whole command line.
const batchLine = "\x00line:"

// wrapCommand returns what has to be started for a command that was found at path: for batch files cmd.exe.
func wrapCommand(path string, args []string) (string, []string, error) {
	if !isBatch(path) {
		return path, args, nil
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return "", nil, fmt.Errorf("finding cmd.exe: %w", err)
	}
	shell := filepath.Join(system, "cmd.exe")
	line, err := batchCommand(shell, path, args)
	if err != nil {
		return "", nil, err
	}
	return shell, []string{batchLine + line}, nil
}
