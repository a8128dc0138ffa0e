//! Where packages come from: registries and mirrors (spec sections 7 and 9).
