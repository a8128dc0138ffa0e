# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/local" {
  version = "2.5.2"
  hashes = [
    "h1:YAQLq8T8KmuoLkhnDMXmRN9UOnXnsuLRqrKGQ1UxWrA=",
    "zh:326ce3d7aeb44d0c69fffe844700a871b06b2eec37767a1bfd456a2752a6d352",
    "zh:58e05a4331e267085f915b993215eac29901cf438bed8d9959678cf9e852b4a3",
    "zh:98d29cfd3253d2afe10d764576ae7135102cf683645279324237617ec9435d98",
    "zh:9976d7a8c1d088369167a6a941ad6fcf57d180f82201dcbfe3b3d56cedcf8e68",
  ]
}
