package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Fleet is the computers of a benchmark; see StartProcess.
type Fleet interface {
	order(o order) (tally, error)
	// Close ends all computers and waits for it.
	Close() error
}

// pipes is a fleet at the other end of two pipes.
type pipes struct {
	in    io.WriteCloser
	lines *bufio.Scanner
	wait  func() error
}

const fleetGrace = 10 * time.Second // from the end of its orders to the end of the process

// StartProcess starts a fleet as a process, which must call ServeFleet with its stdin and stdout.
func StartProcess(ctx context.Context, program string, args ...string) (Fleet, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel = in.Close // it ends by itself then
	cmd.WaitDelay = fleetGrace
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process of the computers: %w", err)
	}
	return &pipes{in: in, lines: bufio.NewScanner(out), wait: func() error {
		timer := time.AfterFunc(fleetGrace, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		return cmd.Wait()
	}}, nil
}

func (p *pipes) order(o order) (tally, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return tally{}, err
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		return tally{}, fmt.Errorf("the process of the computers is gone: %w", err)
	}
	if !p.lines.Scan() {
		return tally{}, errors.New("the process of the computers ended")
	}
	var t tally
	if err := json.Unmarshal(p.lines.Bytes(), &t); err != nil {
		return tally{}, err
	}
	if t.Error != "" {
		return t, errors.New("the computers: " + t.Error)
	}
	return t, nil
}

// Close ends the fleet.
func (p *pipes) Close() error {
	_ = p.in.Close()
	return p.wait()
}
