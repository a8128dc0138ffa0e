#!/bin/sh
# Installs provlock from a release, after its checksum and, where `gh` is there, its attestation was verified.
#
#   curl --proto '=https' --tlsv1.2 -LsSf {{repository}}/releases/latest/download/install.sh | sh
#
# PROVLOCK_VERSION=0.1.0 installs that release, PROVLOCK_INSTALL_DIR=DIR into that directory [default: ~/.local/bin].
set -eu

repository=${PROVLOCK_REPOSITORY:-'{{repository}}'}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

target() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-musl ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    *) fail "there are no releases for $(uname -s) on $(uname -m); see $repository" ;;
  esac
}

download() {
  if command -v curl >/dev/null; then
    curl --proto '=https,file' --tlsv1.2 --fail --location --silent --show-error --output "$2" "$1"
  elif command -v wget >/dev/null; then
    wget --quiet --output-document="$2" "$1"
  else
    fail "it needs curl or wget"
  fi || fail "cannot download $1"
}

checksum() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    fail "it needs sha256sum or shasum"
  fi | cut -d ' ' -f 1
}

# Everything is in a function, so that a download of this file that breaks off runs nothing.
main() {
  target=$(target)
  archive=provlock-$target.tar.gz
  version=${PROVLOCK_VERSION:-}
  case $version in
    '') releases=$repository/releases/latest/download ;;
    v | v[!0-9]* | [!v0-9]* | *[!0-9A-Za-z.-]*) fail "'$version' is not a version such as 1.2.3" ;;
    *) releases=$repository/releases/download/v${version#v} ;;
  esac
  directory=${PROVLOCK_INSTALL_DIR:-$HOME/.local/bin}
  temporary=$(mktemp -d)
  trap 'rm -rf "$temporary" "${new:-$temporary}"' EXIT
  download "$releases/$archive" "$temporary/$archive"
  download "$releases/SHA256SUMS" "$temporary/SHA256SUMS"

  expected=$(awk -v name="$archive" '$2 == name { print $1 }' "$temporary/SHA256SUMS")
  [ -n "$expected" ] || fail "SHA256SUMS does not list $archive"
  [ "$(checksum "$temporary/$archive")" = "$expected" ] || fail "the checksum of $archive is wrong; nothing was installed"
  if command -v gh >/dev/null && gh auth status >/dev/null 2>&1; then
    gh attestation verify "$temporary/$archive" --repo "${repository#https://github.com/}" >/dev/null ||
      fail "the attestation of $archive cannot be verified; nothing was installed"
  fi

  tar -xzf "$temporary/$archive" -C "$temporary"
  # A copy that is renamed replaces a provlock that runs. In a new directory, nothing is written through a link.
  [ ! -d "$directory/provlock" ] || fail "$directory/provlock is a directory"
  if ! { mkdir -p "$directory" && new=$(mktemp -d "$directory/.provlock.XXXXXX") &&
    cp "$temporary/provlock-$target/provlock" "$new/provlock" && mv -f "$new/provlock" "$directory/provlock"; }; then
    fail "cannot write to $directory; the old provlock is still there, if there was one"
  fi
  "$directory/provlock" --version
  case :$PATH: in *":$directory:"*) ;; *) echo "$directory is not in PATH" ;; esac
}
main
