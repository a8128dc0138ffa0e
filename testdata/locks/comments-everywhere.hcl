# our header

// a second comment
provider "registry.opentofu.org/example/commented" { # behind the brace
  # inside
  version = "1.5.0" # why this one
  /* above constraints */
  constraints="~> 1.5" // behind constraints
  hashes = [ # behind the bracket
    # in the list
    "h1:cqVmL9k4fM4fHdg8yQwgoeiB9YGUJqRJm88acGw6jNY=", // behind a hash
    "zh:6e109cd1f3e44d3bc2bcc56c5586d2adf066c98678360f92d0e9ef08afb3814d", "zh:f0d93d3f4a1280ed7b2fcc3c25b1b652400345ad8b82f6491e091d14e37ff0b0"
    # at the list's end
  ] # behind the list
  # at the block's end
} # behind the block
# below the block

/* between
   blocks */

# floating

/* attached */ provider "registry.opentofu.org/example/second" { /* one line */ version /* gap */ = "1.0.0" /* end */ } // behind it

# footer
