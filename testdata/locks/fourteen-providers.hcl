# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/pa" {
  version = "0.0.0"
  hashes = [
    "h1:NwZeksUW4Vbt6JP+Bdyx35Q5FLwOv3VZ6Y7mPxNU5/0=",
    "zh:398117b98680fda20c3168b433a5817588e5e588ad17dab60ef0bc7de23c2291",
    "zh:9b7882fb2a77398be9315e5bab166a0bcb18f71f88e0d2bf1ce1762ffb1efb88",
    "zh:d510c07d15fda5fca23dbe4e9df2325dac524b873687989bda0fb8d608699154",
  ]
}

provider "registry.opentofu.org/example/pb" {
  version     = "1.3.0"
  constraints = ">= 1.0.0"
  hashes = [
    "h1:BUjTQEnR7lMFdd4GhmQUkDr419E3sF0nhIytE1/DOU4=",
    "h1:FsS8qk+BClFBCVBIDCG+hbLPkmapJtYZUITAPDdotTE=",
    "zh:2c9a536d709eb6a1b925232bcf417dd162781c74df81c8bb325c55ad84919a2e",
    "zh:62ccb005eb5e25db082b31961c0e89fd4a76bc46871f9cc1d153815ab916d478",
    "zh:d40abce6b64a6a61038e0e95d62d9a50fa0cfc0d13ace1a8113b4328ed83e369",
  ]
}

provider "registry.opentofu.org/example/pc" {
  version     = "2.6.0"
  constraints = ">= 2.0.0"
  hashes = [
    "h1:uP3IBlDksZd9VqcM1Tr/gXemyk39h2x+faV6NZpS3Ac=",
    "zh:0534e7413242f10c80157f31bcd6638246a46ad19b9c54b1ebf5e98fb11873a9",
    "zh:7812739010a165dac0ee1b34b315755031bdb3caa22524921b4398249d33cf46",
    "zh:afe8016d3c1249ed34cd45b5d75699d91fa80cc4da21ce4dea77393f70f62b03",
  ]
}

provider "registry.opentofu.org/example/pd" {
  version = "3.9.0"
  hashes = [
    "h1:eFP20QytERTyHe5BETVbQef6szUoECNRYQXtyCZVjvw=",
    "h1:yQT2H/c1h45q5qK7vGS03W+adb6t/N/OySIkjgUDTas=",
    "zh:644ffeee3746d7e5cd40044cbb3bf361a8cdc0d1ab78e5d0183bb39e083efc36",
    "zh:d0cc6073b24922391f9ba3c3c3f83459b464508adec99d324455efecd7f06c27",
    "zh:e1512b2175c15eb985d678dea2efca54bc992d22420ce8049130ccf74fc88479",
  ]
}

provider "registry.opentofu.org/example/pe" {
  version     = "4.12.0"
  constraints = ">= 4.0.0"
  hashes = [
    "h1:KlhqR/ph+BhqH7Nd5QVckiDD9MJko6C6GuIQhYIWqO8=",
    "zh:275ff04c0f880576a327866ec789e2f77a105e0eb119c319199ce25ee69b13f2",
    "zh:77065a2f197a82d3e904ef1f51f829489e0d0870c41297717027924eb0e98713",
    "zh:b99824f0a493539b8383b2a4a7f83175377cb7d5d7be66d7e09e88164d1910ca",
  ]
}

provider "registry.opentofu.org/example/pf" {
  version     = "5.15.0"
  constraints = ">= 5.0.0"
  hashes = [
    "h1:bk/vD9z4vGaU0CwXGlSCwA/o29MyMOKy/mcoFTmOU6s=",
    "h1:wYKxZKWpRLQC3OSPKNXaQ2y3VsRffJWgp7GKJ1JrQ2U=",
    "zh:53d103bbf445ca0fb821f06803f39ffc5d923ddeb2da762ccc4d6d7d56411366",
    "zh:bfb44ed46a6ae961047f1a11ebde47d42e776bac36c20471d780eb5e0c930531",
    "zh:c7e0c051f763d3fa8e726f23e4fdfeb7ceb63203fc676cc532e46125e9a9f47d",
  ]
}

provider "registry.opentofu.org/example/pg" {
  version = "6.18.0"
  hashes = [
    "h1:1aIRdnkQq+pY+nx0Bn87FtLBiE4PDyXfUBkfLAq+8MM=",
    "zh:4c755a6dfecf13eec0ed7663b3ad9647c42d4620e9d787e596515b68b1e96773",
    "zh:daf19c36a9901535ff38daafb93816aa1eb0e76baa0a3ca099604894d5d5a0e9",
    "zh:e1ea021e468bcd29da16016b0682f13359b2abe5a943a8ea548b94507927f877",
  ]
}

provider "registry.opentofu.org/example/ph" {
  version     = "7.21.0"
  constraints = ">= 7.0.0"
  hashes = [
    "h1:RnvXYPBzEtc+LG3tGrMM9pOZnYgXZBDw70HTe9cu9P4=",
    "h1:g9bjQaDg22Cbh62I8patMZ+CmUN5p8YoQFr2oaamYFQ=",
    "zh:66a45498116d61b9b2c7750e4ec5d7ec90e47bb854e9c895d253e4764e79a7c9",
    "zh:93453356eb7bc7b42af495f7681ef937011876dbef539f20d3eda64e5254f1cd",
    "zh:9ed2a2322f8f57176a8882b3f25c33f6f491d3ce0b6a4c942abcd6bb508e3cf1",
  ]
}

provider "registry.opentofu.org/example/pi" {
  version     = "8.24.0"
  constraints = ">= 8.0.0"
  hashes = [
    "h1:6rMmrs4B5W/M43M1vIDOJ1JhRx+psGMV7fW9K4WqWCw=",
    "zh:22af06fbf34c93362bc05577e955cb701f9cc285a1ad28a0f5ab690262a0d734",
    "zh:3cb75bc4e4394f74b5273d31c577d09a10d0e494792c6a598eeb95da35a2d4d4",
    "zh:9a70cfd8d5a2483e214532abcdb747a050646e67bb6185a3499d14e42f5b1255",
  ]
}

provider "registry.opentofu.org/example/pj" {
  version = "9.27.0"
  hashes = [
    "h1:p123vs3ebCUkeLxzpHugJRjWme3xToLOiVU87/YJTn4=",
    "h1:rIFPmYEksgeg1f2XAPf/2qcv28x56FUFejioK9oWeJw=",
    "zh:0ea7f4a927ae18e729c5df1d64e9090f94c8cf9f0b338fbc1950d3d12c9e1067",
    "zh:2e4208c6eb85a5ea5ddedabc6409f4d2e81356e8b0b13b8d029b435bb2a98f00",
    "zh:4f95283f1ced5c5ecb347c75de31bf4f577d2e1e8fe049bf0a191caa96d1e1c0",
  ]
}

provider "registry.opentofu.org/example/pk" {
  version     = "10.30.0"
  constraints = ">= 10.0.0"
  hashes = [
    "h1:c9yriVkFGi/HE2dHR55c/B+K2s3dlvi3nyLHNPLK7p0=",
    "zh:49afe8bf30a0f5dfad6fe03e0e79585a2a231321ab2ff934961b3c881f9e178b",
    "zh:9a9b61c12783959a81d05aa68e37e6138f7f8a5286ad53e3e788d771add88e0e",
    "zh:ed05408d925a88f73defc1533a1c854d4998d87f05bc9791a130052555b2c2cf",
  ]
}

provider "registry.opentofu.org/example/pl" {
  version     = "11.33.0"
  constraints = ">= 11.0.0"
  hashes = [
    "h1:aTvFsfOom9cFBtlggLW05+XLqmq7I5K8hwU9MRr+xRI=",
    "h1:aydugshif8AMVHXD0+2u/Vcx4ZBVqUjUyeohPyCFDRc=",
    "zh:20f87ed1bb2a2e8b1f0a3defd2f6342b3ebbaecd4270881de7f24e9a3243a8c5",
    "zh:41aa77067b3d831ebc843d283a366bd384bb2829ab036600193f48db8cfef790",
    "zh:e97b3518b78092667dcb8d4efa8848c7c1d2a533c14f5fe1b832a9b060dbb3a4",
  ]
}

provider "registry.opentofu.org/example/pm" {
  version = "12.36.0"
  hashes = [
    "h1:bdLA/wREJmFep6tA2S8YAUGOXy7/IS21nUc6H0m1GX4=",
    "zh:5c363dbc831a915ad2497b7521c0394e84dd25581f58ef45c20b2b1d18ae933d",
    "zh:8f22fd1e06879cf897746a38e2be31bc8c6f85b342e40b2ed1cea1e85d5aaf73",
    "zh:ce2cc269c45233c4e4fb68948a14f94496f03a49735e3a51341af75ff6087501",
  ]
}

provider "registry.opentofu.org/example/pn" {
  version     = "13.39.0"
  constraints = ">= 13.0.0"
  hashes = [
    "h1:P3Lk9miMRvg6aOe8tdcjgSO1SQJ9Nbby5BLOxh/RjXY=",
    "h1:fxbb8R6lJLDFawUby2OqmMTwPHZ5sBL/nM7LZi6+dlI=",
    "zh:2ba15d3c9fdd1b9da2d65d53311cdd845f3655ca87429228f5dff9f70263139b",
    "zh:4c4d3b8ab24c37898bc04f57e5c40772ad90bb3da4d027911e8b34c8e0e00cb3",
    "zh:fd69dd232cbd3b6668a91dae6ce034e6114551e07d9070253fb5eefd6a63310f",
  ]
}
