# A policy that allows other namespaces only.
. "$PAGES/locked.sh"
printf '[policy]\nallowed-namespaces = ["acme"]\n' >>provlock.toml
