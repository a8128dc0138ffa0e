# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/alpha" {
  version     = "1.0.0-alpha.1+build.5"
  constraints = "1.0.0-alpha.1+build.5"
  hashes = [
    "h1:0VOB221CJ6D0LmarEihXKtUnUfxfhPg8F5DJ7U+meg4=",
    "zh:98040713d612413be60ae57148b737487d54df591f18c5308db58d6eb34b6783",
    "zh:a8016bd5091c108d5f8d7b3f7e3d180621c19a6b5c2df33a8b558497ee8b3906",
    "zh:d187ff9f19d8b059422f8f2c37984b134acf38b293cb9bd76d9ce2c2bf8d73a2",
    "zh:e1dddedfd44356601766dddc3f17a4839dcc5041a0a7c06d553e9aecaae86dc5",
  ]
}

provider "registry.opentofu.org/example/beta" {
  version     = "2.0.0-rc.1"
  constraints = "2.0.0-rc.1"
  hashes = [
    "h1:X6/Gk9OsPtHB1AIMMfWuZiTS4xBmoPlVJ5Lne0zRlQY=",
    "zh:1007a36ba40e8f7c36f304b6dd6279f4b9016b8afa7b30f6c284a21430e37de5",
    "zh:a2c2de2519c32e545c337d7b579263a80cdb763063debbfc178809c9154fe3f0",
    "zh:b091cb70c7652d6875b1f142827d69b53434805a0e6b067f57969884c9b3a4a4",
    "zh:b369d79755e15d9a3a5a7a0383cd53b17d4b5f6d12a704850a32f475563215fa",
  ]
}
