//! Bounds the steps and the depth of an evaluation.

use std::cell::Cell;

use super::value::Stop;

/// The steps and the depth that an evaluation has used.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    steps: Cell<usize>,
    depth: Cell<usize>,
}

impl Allowance {
    /// Most steps: expressions, bytes that are read, and a fraction of the bytes of values. Real
    /// units of Terragrunt take about ten thousand.
    const MAX_STEPS: usize = 2 << 20;
    /// Bytes of values per step.
    const BYTES: usize = 16;
    /// Deepest nesting of expressions; bounds the stack.
    const MAX_DEPTH: usize = 200;

    /// Number of steps that were taken.
    pub(crate) fn spent(&self) -> usize {
        self.steps.get()
    }

    /// Takes from the allowance.
    pub(crate) fn spend_steps(&self, steps: usize) -> Result<(), Stop> {
        self.steps.set(self.steps.get().saturating_add(steps));
        if self.steps.get() > Self::MAX_STEPS {
            Err(Stop::unknown(
                "the configuration takes too long to evaluate",
            ))
        } else {
            Ok(())
        }
    }

    /// Takes from the allowance for values or texts of this size.
    pub(crate) fn spend_on_bytes(&self, bytes: usize) -> Result<(), Stop> {
        self.spend_steps(bytes / Self::BYTES)
    }

    /// Runs a step that may contain others.
    pub(crate) fn nested<T>(&self, step: impl FnOnce() -> Result<T, Stop>) -> Result<T, Stop> {
        self.spend_steps(1)?;
        within_depth(
            &self.depth,
            Self::MAX_DEPTH,
            "the expression is too deeply nested",
            step,
        )
    }
}

/// Runs a step that may contain others of its kind, unless `limit` of them are already running.
pub(crate) fn within_depth<T>(
    depth: &Cell<usize>,
    limit: usize,
    reason: &str,
    step: impl FnOnce() -> Result<T, Stop>,
) -> Result<T, Stop> {
    if depth.get() == limit {
        return Err(Stop::unknown(reason));
    }
    depth.set(depth.get() + 1);
    let result = step();
    depth.set(depth.get() - 1);
    result
}
