#!/bin/sh
# deb's purge: what `traposd uninstall --system --purge` removes, which is not there any more by now.
set -e
[ "$1" = purge ] || exit 0
made=no
grep -q '"madeAccount": true' /etc/traposd/install.json 2>/dev/null && made=yes
cd /etc
rm -rf traposd/secrets traposd/install.json traposd/mcp.json traposd/traposd.json traposd/environment \
	systemd/system/traposd.service.d systemd/system/traposd-mcp.socket.d systemd/system/traposd-gateway.socket.d
[ ! -d traposd ] || rmdir --ignore-fail-on-non-empty traposd
rm -rf /var/lib/traposd /var/cache/traposd
if [ $made = yes ] && id traposd >/dev/null 2>&1; then
	userdel traposd
fi
