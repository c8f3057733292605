# Shared by packaging/run and packaging/test: packages, configuration, build. To be sourced by bash, not run.
# shellcheck shell=bash

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# Read by the scripts that source this file.
# shellcheck disable=SC2034
faultline=$root/build/release/app/faultline
sample=$root/build/sample/faultline-sample

say() { printf '%s\n' "$*"; }

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# packages_of SECTION…: the package names of these sections of dependencies.txt, one a line.
packages_of() {
    awk -v wanted=" $* " '
        { sub(/#.*/, "") }
        /^\[.*\]/ { section = $1; gsub(/[][]/, "", section); next }
        NF && index(wanted, " " section " ") { print $1 }' "$root/packaging/dependencies.txt"
}

is_installed() {
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "packages are missing and neither root nor sudo is at hand: run this once as root: apt-get install --no-install-recommends ${missing[*]}"
    fi
}

# install_packages SECTION…: installs what is missing; touches neither network nor root where nothing is.
install_packages() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "This is no Debian system: the packages of packaging/dependencies.txt are taken as installed."
        return
    fi
    local name
    missing=()
    while read -r name; do
        is_installed "$name" || missing+=("$name")
    done < <(packages_of "$@")
    if ((${#missing[@]} == 0)); then
        say "All packages of packaging/dependencies.txt are installed."
        return
    fi
    say "Installing what is missing: ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update ||
        fail "the package lists could not be updated: check the network and /etc/apt/sources.list, then run this again."
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends "${missing[@]}" >/dev/null ||
        fail "these packages could not be installed: ${missing[*]} (Debian 12 has them all; see the message of apt-get above)."
}

# build_release: configures (cheap when nothing changed) and builds the preset `release`.
build_release() {
    cd -- "$root" || fail "the folder $root cannot be entered."
    # A tree that was moved or copied takes a build folder along that names the old place; it cannot be reused.
    local cache=build/release/CMakeCache.txt
    if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
        say "Removing build/release: it was configured in another place."
        rm -rf build/release
    fi
    say "Configuring build/release."
    mkdir -p build
    cmake --preset release >build/configure.log 2>&1 || {
        tail -n 30 build/configure.log >&2
        fail "configuring failed: see build/configure.log."
    }
    say "Building build/release (minutes the first time, seconds after that)."
    cmake --build --preset release || fail "the build failed: the first error above says where."
}

# make_sample: writes the sample's folder where it is missing or older than what makes it.
make_sample() {
    local maker=$root/resources/sample
    local program=$root/build/release/app/faultline
    if [[ -f $sample/normal/truth.json && -z $(find "$maker" "$program" -newer "$sample/normal/truth.json" -type f -print -quit) ]]; then
        return
    fi
    say "Making the sample ${sample#"$root"/}."
    "$maker/make_sample" "$program" "$sample" >/dev/null || fail "the sample could not be made: see the message above."
}
