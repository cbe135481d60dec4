# Sourced by the other scripts: where things are, and how packages get installed.
# shellcheck shell=sh
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1

# Baseline objects are the same in every build folder: let ccache share them.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1

say() { printf '%s\n' "$*" >&2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# install_packages NAME...: Debian packages, those that are missing. A mirror in the middle of a sync
# fails for a moment, so the update is tried again, and a failed one matters only if a package is missing.
install_packages() {
  missing=
  for package in "$@"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if ! command -v apt-get >/dev/null; then
    say "These Debian packages are needed, and apt-get is not here:$missing"
    return 1
  fi
  say "Installing:$missing"
  for try in 1 2 3; do
    as_root apt-get -qq update >/dev/null && break
    sleep $((try * 5))
  done
  for try in 1 2 3; do
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
      $missing >/dev/null && return 0
    sleep $((try * 5))
    as_root apt-get -qq update >/dev/null || true
  done
  say "apt-get could not install:$missing"
  return 1
}

# isas_of PROCESSOR: the sets that kernels/isas.table has for it, from the slowest to the fastest, without scalar.
isas_of() {
  grep -v '^#' kernels/isas.table | while IFS='|' read -r name processors _; do
    case " $processors " in *" $1 "*) echo "${name%% *}" ;; esac
  done
}

build_packages="g++ meson ninja-build ccache pkg-config libabsl-dev libfmt-dev libsimdjson-dev
  libpcre2-dev libutf8proc-dev liburing-dev nlohmann-json3-dev libcli11-dev"
example_packages="libsdl2-dev"
python_packages="python3 python3-dev python3-venv ca-certificates"
test_packages="catch2 cmake strace clang-format-14 python3"
model_packages="python3 python3-pip ca-certificates"
web_packages="chromium-headless-shell fonts-noto-core"
