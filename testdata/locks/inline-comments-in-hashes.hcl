# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/inline" {
  version = "1.0.0"
  hashes = [ /* linux */ "h1:g/on5P1C2DiP3pcmFrTAeUvYpysqPw31SoBti0CIeOo=", /* darwin */ "h1:PH/bOXeGpjOeCG0EZWMV5NsHSQ/JaWAUhKddLoiKBSM=" /* behind */, "zh:acdb8cc70ea38828b54236e4d9bde9a3939b4b07a96e95f46b3123ea371d3b24" /* last */ ]
}
