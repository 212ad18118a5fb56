#!/bin/sh
# Looks up known vulnerabilities of what uv.lock installs into the image, in OSV's database.
# Ends with 0 if there are none, with 1 if there are some, and with 2 if OSV could not be asked.
# Usage: scan.sh [--ignore ID]...    OSV_URL: another address than https://api.osv.dev/
set -u

cd "$(dirname "$0")/.."
uv=.venv-tools/bin/uv
[ -x "$uv" ] || uv=uv
said=$(mktemp)
trap 'rm -f "$said"' EXIT
"$uv" audit --preview-features audit-command --frozen --no-dev \
    ${OSV_URL:+--service-url "$OSV_URL"} "$@" >"$said" 2>&1
code=$?
cat "$said"
case $code in
    0) ;;
    1)
        echo "Update these packages: uv lock --upgrade-package NAME. If one does not concern the bot," >&2
        echo "say why in .ci/run and pass --ignore ID." >&2
        ;;
    *)
        echo "Not scanned: OSV could not be asked." >&2
        code=2
        ;;
esac
exit $code
