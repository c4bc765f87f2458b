//! The text of one page, with line breaks and spaces where the position changes.

use std::collections::BTreeMap;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Encoding, Object, ObjectId};

use super::budget::Budget;

/// The offset, in thousandths of the font size, that counts as a space.
const SPACE: f32 = -180.0;
/// Maximum nesting depth of forms, and maximum forms per page.
const MAX_DEPTH: usize = 8;
const MAX_FORMS: usize = 200;

/// Appends the text of a page and skips unreadable parts.
pub(super) fn append(document: &Document, page: ObjectId, budget: &mut Budget, text: &mut String) {
    let content = document.get_page_content_with_limit(page, budget.stream_bytes());
    let Ok(content) = content else { return };
    let fonts = document.get_page_fonts(page).unwrap_or_default();
    let mut resources: Vec<&Dictionary> = Vec::new();
    if let Ok((own, inherited)) = document.get_page_resources(page) {
        resources.extend(own);
        resources.extend(inherited.iter().filter_map(|id| document.get_dictionary(*id).ok()));
    }
    let mut writer = TextWriter { document, budget, forms: 0, line: None, text };
    writer.write(&content, &Scope { fonts, resources, depth: 0 });
}

/// What the operations of a content stream refer to.
struct Scope<'d> {
    fonts: BTreeMap<Vec<u8>, &'d Dictionary>,
    resources: Vec<&'d Dictionary>,
    /// The number of forms around the stream.
    depth: usize,
}

/// Appends the text of content streams.
struct TextWriter<'d, 't> {
    document: &'d Document,
    budget: &'t mut Budget,
    forms: usize,
    /// Vertical position of the last line.
    line: Option<f32>,
    text: &'t mut String,
}

impl<'d> TextWriter<'d, '_> {
    fn write(&mut self, content: &[u8], scope: &Scope<'d>) {
        let Some(operands) = self.budget.take_content(content) else { return };
        if let Ok(content) = Content::decode(content) {
            self.run_operations(&content.operations, scope);
        }
        self.budget.return_operands(operands);
    }

    fn run_operations(&mut self, operations: &[Operation], scope: &Scope<'d>) {
        let mut encodings: BTreeMap<Vec<u8>, Option<Encoding<'_>>> = BTreeMap::new();
        let mut current: Option<Vec<u8>> = None;
        for operation in operations {
            match operation.operator.as_str() {
                "Tf" => {
                    let name = operation.operands.first().and_then(|name| name.as_name().ok());
                    current = name.map(<[u8]>::to_vec);
                    if let Some(name) = &current
                        && !encodings.contains_key(name)
                    {
                        let font = scope.fonts.get(name);
                        let max_bytes = self.budget.stream_bytes();
                        let encoding = font.and_then(|font| {
                            font.get_font_encoding_with_limit(self.document, max_bytes).ok()
                        });
                        encodings.insert(name.clone(), encoding);
                    }
                }
                "Do" if scope.depth < MAX_DEPTH => self.show_form(operation, scope),
                _ => {
                    let encoding = current.as_ref().and_then(|name| encodings.get(name)?.as_ref());
                    self.run_operation(operation, encoding);
                }
            }
        }
    }

    /// Runs an operation that shows text or moves the position.
    fn run_operation(&mut self, operation: &Operation, encoding: Option<&Encoding<'_>>) {
        let operands = &operation.operands;
        let number = |index: usize| operands.get(index).and_then(|value| value.as_float().ok());
        match operation.operator.as_str() {
            "Tj" => self.show(operands, encoding),
            "TJ" => {
                if let Some(Object::Array(parts)) = operands.first() {
                    self.show(parts, encoding);
                }
            }
            "'" => {
                self.end_line();
                self.show(operands, encoding);
            }
            "\"" => {
                self.end_line();
                self.show(operands.get(2..).unwrap_or_default(), encoding);
            }
            "T*" | "BT" => self.end_line(),
            "Td" | "TD" => {
                if number(1).is_some_and(|down| down.abs() > f32::EPSILON) {
                    self.end_line();
                } else {
                    self.space();
                }
            }
            "Tm" => {
                let height = number(5);
                if height == self.line {
                    self.space();
                } else {
                    self.end_line();
                }
                self.line = height;
            }
            _ => {}
        }
    }

    fn show(&mut self, parts: &[Object], encoding: Option<&Encoding<'_>>) {
        let Some(encoding) = encoding else { return };
        for part in parts {
            match part {
                Object::String(bytes, _) => {
                    let shown = Document::decode_text(encoding, bytes).unwrap_or_default();
                    self.text.extend(shown.chars().filter(|letter| !letter.is_control()));
                }
                part => {
                    if part.as_float().is_ok_and(|moved| moved < SPACE) {
                        self.space();
                    }
                }
            }
        }
    }

    fn show_form(&mut self, operation: &Operation, scope: &Scope<'d>) {
        let document = self.document;
        let name = operation.operands.first().and_then(|name| name.as_name().ok());
        let found = name.and_then(|name| {
            let mut forms = scope.resources.iter().filter_map(|known| {
                let forms = dictionary(document, known.get(b"XObject").ok()?)?;
                forms.get(name).ok()
            });
            let (_, form) = document.dereference(forms.next()?).ok()?;
            form.as_stream().ok()
        });
        let Some(form) = found else { return };
        let is_form = form.dict.get(b"Subtype").and_then(Object::as_name).ok() == Some(b"Form");
        self.forms += 1;
        if !is_form || self.forms > MAX_FORMS {
            return;
        }
        let Ok(content) = form.decompressed_content_with_limit(self.budget.stream_bytes()) else {
            return;
        };
        let own = form.dict.get(b"Resources").ok().and_then(|own| dictionary(document, own));
        let form_fonts = own.and_then(|own| dictionary(document, own.get(b"Font").ok()?));
        let mut fonts = scope.fonts.clone();
        for (name, font) in form_fonts.into_iter().flat_map(Dictionary::iter) {
            if let Some(font) = dictionary(document, font) {
                fonts.insert(name.clone(), font);
            }
        }
        let resources = own.into_iter().chain(scope.resources.iter().copied()).collect();
        self.end_line();
        self.write(&content, &Scope { fonts, resources, depth: scope.depth + 1 });
        self.end_line();
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }
}

/// Resolves a dictionary or a reference to one.
fn dictionary<'d>(document: &'d Document, object: &'d Object) -> Option<&'d Dictionary> {
    let (_, object) = document.dereference(object).ok()?;
    object.as_dict().ok()
}
