# A provider whose namespace is misspelled.
. "$PAGES/locked.sh"
sed -i 's,hashicorp/null,hashlcorp/null,' live/main.tf
