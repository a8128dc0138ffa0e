# Two branches that lock different versions of a provider, in a repository that merges with provlock.
write() {
  cat >.terraform.lock.hcl <<END
# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/aws" {
  version     = "$1"
  constraints = "~> 5.60"
  hashes = [
    "h1:$(printf '%043d' "$2" | tr 0-9 A-J)=",
  ]
}
END
}
write 5.60.0 1
provlock setup git --write --quiet
git add .
git commit --quiet --message=base
git switch --quiet --create other
write 5.81.0 2
git commit --quiet --all --message=other
git switch --quiet main
write 5.82.2 3
git commit --quiet --all --message=ours
