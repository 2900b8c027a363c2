#!/bin/sh
# container.sh BUILD: the second stage of server/deploy/Dockerfile without Docker. Its packages are installed into an empty Debian by
# mmdebstrap, its files copied from BUILD; the entry point serves a model there. Prints the size. Needs root and Debian's packages; exit
# status 77 where these are not to be had.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
docker=$source/server/deploy/Dockerfile
[ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null && command -v chroot >/dev/null || { echo "root and mmdebstrap are needed"; exit 77; }
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
image=$(sed -n 's/^FROM debian:12-slim/bookworm/p' "$docker")
packages=$(sed -n '/^FROM debian:12-slim/,/^COPY/{s/.*install -y --no-install-recommends \(.*\) \\/\1/p}' "$docker" | tr ' ' ,)
test -n "$image" -a -n "$packages"
mmdebstrap --quiet --variant=minbase --include="$packages" "$image" "$folder/image" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 77; }
chroot "$folder/image" useradd --system --no-create-home sconce
bare=$(du -sm "$folder/image" | cut -f1)
sed -n '/^FROM debian:12-slim/,$s/^COPY --from=build //p' "$docker" | while read -r files; do
  for file in ${files% *}; do
    (cd "$build" && cp -P ${file#/src/build/release/} "$folder/image${files##* }")
  done
done
strip "$folder/image/usr/bin/sconce-server" "$folder/image/usr/bin/sconce" "$folder"/image/usr/lib/libsconce.so.*.*
mkdir "$folder/image/models"
printf 'class Net(nn.Module):\n    def forward(self, x: Tensor) -> Tensor:\n        return x * 2\n' >"$folder/net.py"
"$build/bin/sconce" convert "$folder/net.py" "$folder/image/models/net.pt" --module 'Net()' >/dev/null
echo "image: $(du -sm "$folder/image" | cut -f1) MB, of which Debian and its packages $bare"
entry=$(sed -n 's/^ENTRYPOINT \[\(.*\)\]/\1/p' "$docker" | tr -d '",')
# Loopback, and ports that are free: the entry point's host is every address.
user=$(chroot "$folder/image" id -u sconce)
chroot --userspec="$user" "$folder/image" $(echo "$entry" | sed 's/0\.0\.0\.0/127.0.0.1/') --port 0 --grpc-port 0 2>"$folder/log" &
server=$!
for _ in $(seq 600); do
  grep -q '"ready"' "$folder/log" && break
  kill -0 "$server" 2>/dev/null || { cat "$folder/log"; exit 1; }
  sleep 0.1
done
http=$(sed -n 's/.*"http":"\([^"]*\)".*/\1/p' "$folder/log")
answer=$(curl -sS "http://$http/v2/models/net/infer" -d '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2.5]}]}')
echo "$answer" | grep -q '"data":\[2,5\]' || { echo "wrong answer: $answer"; exit 1; }
kill "$server"
wait "$server"
server=
