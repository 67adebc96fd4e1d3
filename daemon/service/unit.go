package service

import (
	"fmt"
	"strings"
)

// Names of the units.
const (
	unitService = Name + ".service"
	unitMCP     = Name + "-mcp.socket"
	unitGateway = Name + "-gateway.socket"
)

// restartStepsSince is the version of systemd that knows RestartSteps= (systemd.service(5)). Older ones warn about it in
// the journal at every reload.
const restartStepsSince = 254

// File is one file of a service's definition.
type File struct {
	Name string // without its folder
	Text string
	Mode uint32
}

// units are the definition for systemd: the service first, then its sockets.
func (s *Spec) units() []File {
	files := []File{{unitService, s.unit(), 0o644}}
	for _, u := range s.sockets() {
		files = append(files, File{u.name, s.socketUnit(u), 0o644})
	}
	return files
}

// socket is one address that systemd keeps bound over a restart.
type socket struct {
	name, address, descriptor, what string
}

func (s *Spec) sockets() []socket {
	var all []socket
	if addr := socketAddress(s.MCPAddr); addr != "" {
		all = append(all, socket{unitMCP, addr, "mcp", "MCP endpoint"})
	}
	if addr := socketAddress(s.Gateway); addr != "" {
		all = append(all, socket{unitGateway, addr, "gateway", "gateway for computers"})
	}
	return all
}

func (s *Spec) socketNames() string {
	var names []string
	for _, u := range s.sockets() {
		names = append(names, u.name)
	}
	return strings.Join(names, " ")
}

const written = "# Written by `traposd install`, and written anew by the next one. For changes of your own: `systemctl%s edit %s`.\n"

func (s *Spec) header(unit string) string {
	scope := " --user"
	if s.System {
		scope = ""
	}
	return fmt.Sprintf(written, scope, unit)
}

// socketUnit: FreeBind lets an address be bound that is not there yet when the machine boots.
func (s *Spec) socketUnit(u socket) string {
	var b strings.Builder
	b.WriteString(s.header(u.name))
	fmt.Fprintf(&b, "[Unit]\nDescription=traposd: address of the %s\nDocumentation=%s\n\n", u.what, homePage)
	fmt.Fprintf(&b, "[Socket]\nListenStream=%s\nFileDescriptorName=%s\nService=%s\nFreeBind=yes\n\n", u.address, u.descriptor, unitService)
	b.WriteString("[Install]\nWantedBy=sockets.target\n")
	return b.String()
}

// unit is the service's own. The colon of ExecStart= keeps systemd from looking for variables in what follows.
func (s *Spec) unit() string {
	var b strings.Builder
	b.WriteString(s.header(unitService))
	fmt.Fprintf(&b, "[Unit]\nDescription=%s\nDocumentation=%s\n", description, homePage)
	if s.System {
		// Not network-online.target, for which a machine without a network waits for minutes: the sockets need no address to
		// be there (FreeBind), and servers are tried again.
		b.WriteString("After=network.target\n")
	}
	// Ten starts in half a minute are not the pauses of Restart= any more, but connections that wake what cannot start.
	b.WriteString("StartLimitIntervalSec=30\nStartLimitBurst=10\n\n[Service]\nType=notify\nNotifyAccess=main\n")
	fmt.Fprintf(&b, "ExecStart=:%s%s\n", word(s.Program), words(" ", s.arguments()))
	fmt.Fprintf(&b, "ExecReload=:%s reload --quiet\n", word(s.Program))
	for _, v := range s.environment() {
		fmt.Fprintf(&b, "Environment=%s\n", word(v.Name+"="+v.Value))
	}
	fmt.Fprintf(&b, "EnvironmentFile=-%s/environment\n", line(noGlob(s.ConfigDir)))
	for _, name := range s.Secrets {
		fmt.Fprintf(&b, "LoadCredential=%s:%s/%s\n", name, line(s.SecretsDir), name)
	}
	if names := s.socketNames(); names != "" {
		fmt.Fprintf(&b, "Sockets=%s\n", names)
	}
	b.WriteString("RuntimeDirectory=" + Name + "\nRuntimeDirectoryMode=0700\nRuntimeDirectoryPreserve=restart\n")
	b.WriteString(supervision)
	if s.Systemd >= restartStepsSince {
		b.WriteString("RestartSteps=5\nRestartMaxDelaySec=60\n")
	}
	if s.System {
		s.sandbox(&b)
	}
	target := "default.target"
	if s.System {
		target = "multi-user.target"
	}
	fmt.Fprintf(&b, "\n[Install]\nWantedBy=%s\n", target)
	if names := s.socketNames(); names != "" {
		fmt.Fprintf(&b, "Also=%s\n", names)
	}
	return b.String()
}

// supervision: the exit codes 2, 4 and 5 (daemon.ExitUsage and the following) do not mend themselves. A stop of the
// service takes 10 s at most (daemon.stopTimeout), a server that eats all memory must not take the others with it, and
// what a service that was killed leaves behind is killed by KillMode=mixed.
const supervision = `Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 4 5
KillMode=mixed
TimeoutStartSec=60
TimeoutStopSec=20
WatchdogSec=60
OOMPolicy=continue
`

// sandbox is for a service of the machine, which needs nothing of it but the network, its own folders and its workspaces.
// MemoryDenyWriteExecute= is missing, since it crashes Node; AF_NETLINK is there, since Node asks for the network's
// interfaces.
func (s *Spec) sandbox(b *strings.Builder) {
	fmt.Fprintf(b, "\nUser=%s\nGroup=%s\nUMask=0077\n", s.Account, s.Account)
	b.WriteString("StateDirectory=" + Name + "\nStateDirectoryMode=0700\nCacheDirectory=" + Name + "\nCacheDirectoryMode=0700\nWorkingDirectory=%S/" + Name + "\n")
	for _, v := range []Variable{
		{"HOME", "%S/" + Name}, {"XDG_CACHE_HOME", "%C/" + Name}, {"npm_config_cache", "%C/" + Name + "/npm"}, {"UV_CACHE_DIR", "%C/" + Name + "/uv"},
	} {
		fmt.Fprintf(b, "Environment=%s=%s\n", v.Name, v.Value)
	}
	b.WriteString("LimitNOFILE=65536\n")
	b.WriteString(sandbox)
	home := "yes"
	var shown strings.Builder
	for _, dir := range s.Workspaces {
		if hiddenHome(dir) {
			home = "tmpfs"
			fmt.Fprintf(&shown, "BindPaths=%s\n", word("-"+dir))
		}
	}
	fmt.Fprintf(b, "ProtectHome=%s\n%s", home, shown.String())
	if len(s.Workspaces) > 0 {
		fmt.Fprintf(b, "ReadWritePaths=%s\n", strings.TrimPrefix(words(" ", dashed(s.Workspaces)), " "))
	}
}

// dashed marks paths that may be missing.
func dashed(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = "-" + p
	}
	return out
}

const sandbox = `AmbientCapabilities=
CapabilityBoundingSet=
KeyringMode=private
LockPersonality=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
`
