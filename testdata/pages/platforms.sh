# A platform that was added to the settings without locking again.
. "$PAGES/locked.sh"
sed -i 's/"linux_amd64", /"linux_amd64", "windows_amd64", /' provlock.toml
