#!/bin/sh
# A session bus with the keyring of GNOME, unlocked; its files are in the folder $1. Nothing else can
# be started over this bus. The first line of output is a JSON object with the address of the bus. It
# exits when its input closes.
set -eu
cat > "$1/bus.conf" <<EOF
<busconfig>
  <type>session</type>
  <listen>unix:path=$1/bus</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
EOF
export HOME="$1" XDG_DATA_HOME="$1/data" XDG_RUNTIME_DIR="$1"
export DBUS_SESSION_BUS_ADDRESS="unix:path=$1/bus"
dbus-daemon --nofork --nopidfile --config-file="$1/bus.conf" > /dev/null 2>&1 &
bus=$!
until [ -S "$1/bus" ]; do sleep 0.05; done
# The password of the keyring is empty.
echo | gnome-keyring-daemon --foreground --unlock --components=secrets > /dev/null 2>&1 &
keyring=$!
exec 3<&0
{ cat <&3; kill "$keyring" "$bus"; } > /dev/null 2>&1 &
until dbus-send --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets \
  org.freedesktop.Secret.Service.ReadAlias string:default 2> /dev/null | grep -q /collection/
do sleep 0.05; done
echo "{\"bus\": \"$DBUS_SESSION_BUS_ADDRESS\"}"
wait "$bus"
