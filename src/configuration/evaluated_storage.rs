//! Evaluation of the block that specifies where the state of a root module is.

use std::collections::BTreeSet;

use super::scope::Scope;
use super::storage::{
    BLOCKS, StateStorage, StorageArgument, StorageBlock, StorageRole, role_in_storage,
};
use super::syntax::{Block, Schema};

/// Evaluates the arguments as the root module does.
pub(super) fn evaluate(storage: &StorageBlock, scope: &Scope<'_>) -> StateStorage {
    let mut evaluated = StateStorage {
        name: storage.name.clone(),
        location: storage.location.clone(),
        ..StateStorage::default()
    };
    if let Some(block) = &storage.block {
        evaluate_arguments(block, scope, &mut evaluated);
    }
    evaluated
}

/// Adds the arguments of a block, by name, and what they depend on. What cannot be evaluated has
/// its text as the identity.
fn evaluate_arguments(block: &Block, scope: &Scope<'_>, evaluated: &mut StateStorage) {
    let arguments = &mut evaluated.arguments;
    let schema = Schema::with_any_attribute(&BLOCKS);
    // A block that cannot be read is compared by its text.
    let Ok(content) = block.content(&schema) else {
        arguments.insert("text".to_owned(), StorageArgument::of_code(block.code()));
        return;
    };
    for attribute in &content.attributes {
        let (value, origin) = scope.evaluate_with_origin(attribute);
        let name = attribute.name.text.clone();
        let mut argument = StorageArgument::of_value(&name, &value);
        if value.first_unknown().is_some() {
            // The origin includes the text of the expression, and what it refers to.
            argument = StorageArgument::of_code(format!("{:?}", origin.fingerprint));
            evaluated.reads.add(origin.files);
        }
        if role_in_storage(&name) != StorageRole::Irrelevant {
            evaluated.variables.extend(origin.variables);
        }
        arguments.insert(name, argument);
    }
    for (kind, nested) in &content.blocks {
        let mut code = block.code();
        if let Ok(nested) = nested {
            code = nested.code();
            evaluated.variables.extend(variables_in(nested, scope));
        }
        let argument = StorageArgument::of_code(code);
        match arguments.get_mut(*kind) {
            Some(first) => first.identity.push_str(&argument.identity),
            None => _ = arguments.insert((*kind).to_owned(), argument),
        }
    }
    if content.other_block.is_some() {
        arguments.insert("text".to_owned(), StorageArgument::of_code(block.code()));
    }
}

/// The variables on which the arguments of a nested block depend.
fn variables_in(block: &Block, scope: &Scope<'_>) -> BTreeSet<String> {
    let mut variables = BTreeSet::new();
    let Ok(content) = block.content(&Schema::ALL_ATTRIBUTES) else {
        return variables;
    };
    for attribute in &content.attributes {
        let (_, origin) = scope.evaluate_with_origin(attribute);
        variables.extend(origin.variables);
    }
    variables
}
