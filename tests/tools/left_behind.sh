#!/bin/bash
# tools/run_tests fails when tests leave a process or a temporary file behind, and names both. Usage: left_behind.sh ROOT
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools" "$work/bin" "$work/build/preset"
cp "$1/tools/run_tests" "$work/tools/"

# A ctest that passes, and does what $1 says.
fake_ctest() {
  cat >"$work/bin/ctest" <<END
#!/bin/bash
$1
printf '<testsuite\n\ttests="1"\n\tfailures="0"\n\tdisabled="0"\n\tskipped="0">\n' >"$work/build/preset/ctest.xml"
END
  chmod +x "$work/bin/ctest"
}
run() { PATH=$work/bin:$PATH "$work/tools/run_tests" preset 1; }

fake_ctest "true"
said=$(run) || { echo "a clean run fails: $said"; exit 1; }
[ "$said" = "1 passed, 0 failed" ] || { echo "a clean run says: $said"; exit 1; }

fake_ctest "touch \"\$TMPDIR/forgotten\"; setsid sleep 60 >/dev/null 2>&1 & echo \$! >$work/pid"
if said=$(run); then
  echo "what is left behind is not noticed: $said"
  exit 1
fi
kill "$(cat "$work/pid")"
grep -q "temporary file forgotten" <<<"$said" && grep -q "process $(cat "$work/pid"): sleep 60" <<<"$said" ||
  { echo "what is left behind is not named: $said"; exit 1; }
