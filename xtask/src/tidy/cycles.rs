//! Rule: the files of a crate do not import each other in a circle.
//!
//! An import leads to the file that defines the name, through re-exports. Sources are scanned for
//! paths after `crate`, `self`, `super` or a child module, without the unit tests at the end of a
//! file. A module may use what its ancestors define.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::finding::Finding;
use super::tree::Tree;

/// Re-exports that are followed for one name.
const MAX_REEXPORTS: usize = 8;

/// The names that each file imports from each other file.
type Imports<'f> = BTreeMap<&'f str, BTreeMap<&'f str, BTreeSet<&'f str>>>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in tree.texts() {
        if let Some((root, file)) = path.split_once("/src/")
            && let Some(module) = file.strip_suffix(".rs")
            && !module.split('/').any(|part| part == "tests")
        {
            crates.entry(root).or_default().push((path, text));
        }
    }
    crates.values().flat_map(|files| check_crate(files)).collect()
}

fn check_crate(files: &[(&str, &str)]) -> Vec<Finding> {
    let modules: BTreeMap<Vec<String>, Module> =
        files.iter().map(|(path, text)| (module_path(path), Module::parse(path, text))).collect();
    let mut imports = Imports::new();
    for (place, module) in &modules {
        for import in &module.imports {
            let Some((target, name)) = resolve(&modules, place, import, MAX_REEXPORTS) else {
                continue;
            };
            if !place.starts_with(&target.path) {
                let names = imports.entry(&module.file).or_default().entry(&target.file);
                names.or_default().insert(name);
            }
        }
    }
    circles(&imports)
        .into_iter()
        .map(|circle| {
            let first = circle.first().copied().unwrap_or_default();
            Finding::new(first, 1, describe(&circle, &imports))
        })
        .collect()
}

struct Module {
    file: String,
    path: Vec<String>,
    defined: BTreeSet<String>,
    imports: Vec<Import>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Import {
    path: Vec<String>,
    /// The name in the importing file.
    alias: Option<String>,
}

/// The path of a module from the root of its crate.
fn module_path(file: &str) -> Vec<String> {
    let inside = file.split_once("/src/").map_or(file, |(_, inside)| inside);
    let inside = inside.trim_end_matches(".rs");
    if matches!(inside, "lib" | "main") {
        return Vec::new();
    }
    inside.split('/').map(str::to_owned).collect()
}

impl Module {
    fn parse(file: &str, text: &str) -> Self {
        let tokens = tokens(text);
        let mut defined = BTreeSet::new();
        let mut children = BTreeSet::new();
        let mut imports = Vec::new();
        let mut index = 0;
        while let Some(token) = tokens.get(index) {
            let next = tokens.get(index + 1).map_or("", String::as_str);
            match token.as_str() {
                "mod" if tokens.get(index + 2).is_some_and(|end| end == ";") => {
                    children.insert(next.to_owned());
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                    defined.insert(next.to_owned());
                }
                "macro_rules" => {
                    defined.extend(tokens.get(index + 2).cloned());
                }
                "use" => index = use_tree(&tokens, index + 1, &mut Vec::new(), &mut imports),
                _ if next == "::" && index.checked_sub(1).is_none_or(|at| tokens[at] != "::") => {
                    let path = path_at(&tokens, index);
                    index += 2 * (path.len() - 1);
                    imports.push(Import { path, alias: None });
                }
                _ => {}
            }
            index += 1;
        }
        imports.retain(|import: &Import| {
            let first = import.path.first().map_or("", String::as_str);
            matches!(first, "crate" | "self" | "super") || children.contains(first)
        });
        Self { file: file.to_owned(), path: module_path(file), defined, imports }
    }
}

/// Reads a `use` tree from `index` on; returns its end.
fn use_tree(
    tokens: &[String],
    mut index: usize,
    prefix: &mut Vec<String>,
    imports: &mut Vec<Import>,
) -> usize {
    let depth = prefix.len();
    while let Some(token) = tokens.get(index) {
        match token.as_str() {
            "::" => {}
            "{" => {
                index += 1;
                while tokens.get(index).is_some_and(|token| token != "}") {
                    index = use_tree(tokens, index, prefix, imports);
                    if tokens.get(index).is_some_and(|token| token == ",") {
                        index += 1;
                    }
                }
                prefix.truncate(depth);
                return index + 1;
            }
            "as" => {
                let alias = tokens.get(index + 1).cloned();
                imports.push(Import { path: prefix.clone(), alias });
                prefix.truncate(depth);
                return index + 2;
            }
            ";" | "," | "}" => break,
            "self" if depth > 0 && prefix.len() == depth => {}
            name => prefix.push(name.to_owned()),
        }
        index += 1;
    }
    imports.push(Import { path: prefix.clone(), alias: prefix.last().cloned() });
    prefix.truncate(depth);
    index
}

fn path_at(tokens: &[String], index: usize) -> Vec<String> {
    let mut path = vec![tokens[index].clone()];
    let mut at = index + 1;
    while tokens.get(at).is_some_and(|token| token == "::")
        && let Some(name) = tokens.get(at + 1).filter(|name| is_name(name))
    {
        path.push(name.clone());
        at += 2;
    }
    path
}

/// The module that defines the item of a path, and the last name of the path.
fn resolve<'m>(
    modules: &'m BTreeMap<Vec<String>, Module>,
    place: &[String],
    import: &'m Import,
    budget: usize,
) -> Option<(&'m Module, &'m str)> {
    let mut at = place.to_vec();
    let mut names = import.path.iter().peekable();
    while let Some(name) = names.peek() {
        match name.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
            }
            _ => break,
        }
        names.next();
    }
    while let Some(name) = names.peek() {
        at.push((*name).clone());
        if !modules.contains_key(&at) {
            at.pop();
            break;
        }
        names.next();
    }
    let module = modules.get(&at)?;
    let Some(name) = names.next() else { return Some((module, import.path.last()?)) };
    let reexport = module.imports.iter().find(|import| import.alias.as_ref() == Some(name));
    match reexport {
        Some(reexport) if !module.defined.contains(name) && budget > 0 => {
            resolve(modules, &at, reexport, budget - 1)
        }
        _ => Some((module, name)),
    }
}

/// Words and relevant punctuation, without comments, literals and unit tests.
fn tokens(text: &str) -> Vec<String> {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let mut tokens = Vec::new();
    flatten(text.parse().unwrap_or_default(), &mut tokens);
    tokens
}

fn flatten(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut stream = stream.into_iter().peekable();
    let is_punct = |token: &TokenTree, wanted: char| matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted);
    while let Some(token) = stream.next() {
        match token {
            // `impl Trait + use<'a>` imports nothing.
            TokenTree::Ident(word)
                if word == "use" && stream.peek().is_some_and(|next| is_punct(next, '<')) => {}
            TokenTree::Ident(word) => tokens.push(word.to_string()),
            TokenTree::Punct(punct) => match punct.as_char() {
                ':' if stream.next_if(|next| is_punct(next, ':')).is_some() => {
                    tokens.push("::".to_owned());
                }
                mark @ (';' | ',') => tokens.push(mark.to_string()),
                _ => {}
            },
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                tokens.push("{".to_owned());
                flatten(group.stream(), tokens);
                tokens.push("}".to_owned());
            }
            TokenTree::Group(group) => flatten(group.stream(), tokens),
            TokenTree::Literal(_) => {}
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The groups of files that import each other.
fn circles<'f>(imports: &Imports<'f>) -> Vec<Vec<&'f str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (*file, reached(file, imports))).collect();
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, others) in &reach {
        if !others.contains(file) || seen.contains(file) {
            continue;
        }
        let is_mutual = |other: &&str| reach.get(other).is_some_and(|back| back.contains(file));
        let circle: Vec<&str> = others.iter().copied().filter(is_mutual).collect();
        seen.extend(circle.iter().copied());
        circles.push(circle);
    }
    circles
}

fn reached<'f>(from: &str, imports: &Imports<'f>) -> BTreeSet<&'f str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for target in imports.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(*target) {
                open.push(target);
            }
        }
    }
    reached
}

fn describe(circle: &[&str], imports: &Imports<'_>) -> String {
    let mut text = format!("{} files import each other in a circle", circle.len());
    for file in circle {
        let targets = imports.get(file).into_iter().flatten();
        for (target, names) in targets.filter(|(target, _)| circle.contains(target)) {
            let names: Vec<&str> = names.iter().copied().collect();
            text.push_str(&format!("\n    {file} -> {target}: {}", names.join(", ")));
        }
    }
    text
}

#[cfg(test)]
mod tests;
