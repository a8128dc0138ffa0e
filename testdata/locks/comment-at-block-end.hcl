# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/example/one" {
  version = "1.2.3"
  hashes = [
    "h1:TAmI1+Ho6VrEqQb3Mn9YFdAIr3iBlffYbwI245hYQyw=",
    "zh:98b0d390bda621b5f2183a75e4546be8dff6f55f9cf57fa777949cf91bce0d31",
    "zh:ad4c9c93b7c4fb0f394cf381cb402ee5da8a403f8e3f194134f0539e59a2cb25",
    "zh:d161455ebd806a7151fd2fbb0cc91ace357a0e119cf26b4bea549aa4c78ce5a5",
    "zh:eb1ee773a45300ab0a2e707f57ed4e6567fe704286922b987500a858ffd59d33",
  ]
}
# directly below
provider "registry.opentofu.org/example/two" {
  version = "1.2.3"
  hashes = [
    "h1:pAHjKJXRutwvHERRi4OgpAbV4AsW1VZpcI6ZkYiR6/0=",
    "zh:36bfa2dcc42c180a894a9479a4d553fdca80c34c2d16f7b7d4c87331dc28ca56",
    "zh:545bd63bf4c9a71525398bd46ce596f25698fc1762617035d40b7abc18ccc0d2",
    "zh:aa3e6c2185dedf140ce60edb39f960089e2b8a69b595569e2d23fc5c2b33a021",
    "zh:fdf08cfa507fbd6ab1b4012a0bedea8d584f2e1b3097121985121d594b92a0cc",
  ]
}
# end
