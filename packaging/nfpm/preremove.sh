#!/bin/sh
# Before a removal (deb: `remove`, rpm: 0, apk and archlinux: a version), not before an upgrade: stop the machine's service
# and take it out. Configuration, secret and state stay.
set -e
case "$1" in
upgrade | deconfigure | failed-upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ] && [ -f /etc/systemd/system/traposd.service ]; then
	env -i PATH="$PATH" HOME=/root traposd uninstall --system || true
fi
