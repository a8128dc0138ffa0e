//! Evaluation of the block that specifies where the state of a root module is.

use std::collections::BTreeMap;

use super::file_reads::FileReads;
use super::scope::Scope;
use super::storage::{BLOCKS, StateStorage, StorageArgument, StorageBlock};
use super::syntax::Schema;

/// Evaluates the arguments as the root module does.
pub(super) fn evaluate(storage: &StorageBlock, scope: &Scope<'_>) -> StateStorage {
    let mut reads = FileReads::default();
    StateStorage {
        name: storage.name.clone(),
        arguments: evaluate_arguments(storage, scope, &mut reads),
        location: storage.location.clone(),
        reads,
    }
}

/// Returns the arguments of a block, by name, and adds the files on which unknown ones depend to
/// `reads`. What cannot be evaluated has its text as the identity.
fn evaluate_arguments(
    storage: &StorageBlock,
    scope: &Scope<'_>,
    reads: &mut FileReads,
) -> BTreeMap<String, StorageArgument> {
    let mut arguments = BTreeMap::new();
    let Some(block) = &storage.block else {
        return arguments;
    };
    let schema = Schema::with_any_attribute(&BLOCKS);
    // A block that cannot be read is compared by its text.
    let Ok(content) = block.content(&schema) else {
        arguments.insert("text".to_owned(), StorageArgument::of_code(block.code()));
        return arguments;
    };
    for attribute in &content.attributes {
        let (value, origin) = scope.evaluate_with_origin(attribute);
        let name = attribute.name.text.clone();
        let mut argument = StorageArgument::of_value(&name, &value);
        if value.first_unknown().is_some() {
            // The origin includes the text of the expression, and what it refers to.
            argument = StorageArgument::of_code(format!("{:?}", origin.fingerprint));
            reads.add(origin.files);
        }
        arguments.insert(name, argument);
    }
    for (kind, nested) in &content.blocks {
        let code = match nested {
            Ok(nested) => nested.code(),
            Err(_) => block.code(),
        };
        let argument = StorageArgument::of_code(code);
        match arguments.get_mut(*kind) {
            Some(first) => first.identity.push_str(&argument.identity),
            None => _ = arguments.insert((*kind).to_owned(), argument),
        }
    }
    if content.other_block.is_some() {
        arguments.insert("text".to_owned(), StorageArgument::of_code(block.code()));
    }
    arguments
}
