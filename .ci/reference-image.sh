#!/usr/bin/env bash
# Builds the image of the reference that the container adapters name, without a registry: Debian's Python and the
# packages that the reference imports, extracted into a folder and imported into the engine that DOCKER_HOST names.
# Needs root, apt-get, pip and an engine. The file system is kept in .ci/cache and made anew when this file changes.
set -euo pipefail
cd "$(dirname "$0")/.."

image=trueseal-conformance-reference
root=.ci/cache/reference-root
made=$root.made
recipe=$(sha256sum "$0" | cut -d' ' -f1)
site=opt/packages
code=opt/reference

if ! command -v mmdebstrap >/dev/null 2>&1; then
    apt-get update -qq
    apt-get install -y -qq mmdebstrap
fi

if [ "$(cat "$made" 2>/dev/null)" != "$recipe" ]; then
    rm -rf "$root" "$made"
    mkdir -p "$(dirname "$root")"
    mmdebstrap --quiet --variant=extract --include=python3 bookworm "$root" http://deb.debian.org/debian
    # Wheels for the image's Python, whichever runs here.
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --target "$root/$site" \
        --python-version 3.11 --implementation cp --only-binary=:all: "cryptography>=44" "protobuf>=7.35.1" pyyaml
    # The container's root is read-only: what is not compiled now is compiled at every start.
    chroot "$root" python3 -m compileall -q /usr/lib/python3.11 "/$site"
    echo "$recipe" >"$made"
fi

rm -rf "${root:?}/$code"
mkdir "$root/$code"
tar --create --exclude=__pycache__ reference_impl adapters vectors | tar --extract --directory="$root/$code" --no-same-owner
chroot "$root" python3 -m compileall -q "/$code"
tar --create --directory="$root" . | docker import \
    --change "ENV PYTHONPATH=/$code:/$site" --change "WORKDIR /$code" \
    --change 'CMD ["python3", "-m", "adapters.reference", "device"]' - "$image"
