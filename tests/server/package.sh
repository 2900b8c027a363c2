#!/bin/sh
# package.sh BUILD FOLDER: the Debian package of a build, installed into an empty folder, used there and removed. Exit status 77, which
# ctest calls skipped, where there is no dpkg.
set -eu
command -v dpkg >/dev/null && command -v dpkg-shlibdeps >/dev/null && command -v cpack >/dev/null || { echo "dpkg-dev is not installed"; exit 77; }
build=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder/installed/var/lib/dpkg/updates" "$folder/installed/var/lib/dpkg/info"
touch "$folder/installed/var/lib/dpkg/status"
cpack --config "$build/CPackConfig.cmake" -B "$folder" -D CPACK_OUTPUT_FILE_PREFIX="$folder/packages" >"$folder/cpack.log" 2>&1 || { cat "$folder/cpack.log"; exit 1; }
package=$(ls "$folder"/packages/sconce_*.deb)
dpkg-deb -f "$package" Depends | grep -q libmicrohttpd
# What it depends on is on this machine, not in that folder.
dpkg --root="$folder/installed" --force-depends --force-not-root --force-script-chrootless -i "$package" >"$folder/dpkg.log" 2>&1 || { cat "$folder/dpkg.log"; exit 1; }
"$folder/installed/usr/bin/sconce" --version
"$folder/installed/usr/bin/sconce" serve --version
# The unit, with its program where it is installed here.
unit=$folder/installed/usr/lib/systemd/system/sconce-server.service
sed "s#=/usr/bin/#=$folder/installed/usr/bin/#" "$unit" >"$folder/sconce-server.service"
if command -v systemd-analyze >/dev/null; then
  systemd-analyze verify --man=no "$folder/sconce-server.service" >"$folder/unit.log" 2>&1 || { cat "$folder/unit.log"; exit 1; }
  test ! -s "$folder/unit.log" || { cat "$folder/unit.log"; exit 1; }
else
  echo "the unit is not verified: systemd-analyze is not installed"
fi
dpkg --root="$folder/installed" --force-not-root --force-script-chrootless -r sconce >>"$folder/dpkg.log" 2>&1
left=$(find "$folder/installed" -path "$folder/installed/var" -prune -o -type f -print)
test -z "$left" || { echo "left behind: $left"; exit 1; }
rm -rf "$folder"
