# Constructs that a scanner could stumble over; Terraform accepts this file.
/* a block comment } with a brace */ locals {
  plain    = "text"
  escaped  = "a \"quoted\" } brace \\"
  literal  = "$${not} %%{a} template"
  template = "${"nested ${"twice"} }"} and %{if true}yes }%{else}no%{endif}"
  percent  = "100%"
  dollar   = "5$"
  heredoc  = <<EOT
  } unbalanced " ( [ ${"in }"} # no comment // nor this /* nor that
EOT
  indented = <<-EOT
    EOTX is not the end
    ${upper(<<-INNER
      EOT
    INNER
    )}
    EOT
  division = 6 / 2 /* six } over
  two */
  list = [
    1, # one ]
    2, // two ]
    "3",
  ]
  object = {
    a = 1, b : 2
    "c" = { d = [] }
    (local.plain) = 3
  }
  call      = merge({}, { for k, v in {} : k => v if v != "}" }...)
  condition = 1 < 2 ? "a" : "b"
  spanning  = "a ${
    "b"
  } c"
}

resource null_resource "identifier_label" {}
resource "null_resource" "one_line" { count = 1 }

variable "a-b_c" {
  default = { x = "y" } // comment
}

moved { # comment
  from = null_resource.a
  to   = null_resource.b
}
output "last" { value = "é 😀 ${1}" }
