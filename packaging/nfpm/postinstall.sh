#!/bin/sh
# After a first installation: say what to do. After an upgrade: have the machine's service, if there is one, be of the new
# version, with what it was told before. A service that does not come up is no reason to break the package manager.
# deb calls this with `configure`, rpm with 1 or 2, the others with versions; what is there tells more than the argument.
set -e
if [ -d /run/systemd/system ] && [ -f /etc/systemd/system/traposd.service ]; then
	now=
	systemctl --quiet is-active traposd.service && now=--now
	# Nothing of the caller's environment is a setting of the service.
	env -i PATH="$PATH" HOME=/root traposd install --system $now ||
		echo "traposd: the service is not upgraded; see \`systemctl status traposd\` and run \`traposd install --system --now\`" >&2
else
	cat <<'TEXT'
traposd is ready to be installed as a service, of yours or of the machine:
  traposd install --now --workspace DIR --generate-password
  sudo traposd install --system --now --generate-password
See /usr/share/doc/traposd/service.md.
TEXT
fi
