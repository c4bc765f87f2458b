//! Renders a conversation with the chat template of the file.

use minijinja::{Environment, Error, ErrorKind, context};

use crate::file::{GgufFile, printable_line};
use crate::tokenizer::Tokenizer;
use crate::{Message, Problem, Refusal};

const MAX_BYTES: usize = 256 * 1024;
/// Limits on the work of a template.
const MAX_STEPS: u64 = 1_000_000;

const NAME: &str = "chat";

#[derive(Debug)]
pub(crate) struct Template(Environment<'static>);

impl Template {
    pub(crate) fn read(file: &GgufFile) -> Result<Self, Problem> {
        let Some(source) = file.text("tokenizer.chat_template") else {
            return Err(
                file.wrong("has no chat template; the model was not made for conversations")
            );
        };
        if source.len() > MAX_BYTES {
            return Err(file.wrong("the chat template is too long"));
        }
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_fuel(Some(MAX_STEPS));
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |words: String| -> Result<(), Error> {
            Err(Error::new(ErrorKind::InvalidOperation, words))
        });
        environment
            .add_template_owned(NAME, source.to_owned())
            .map_err(|error| file.wrong(format!("invalid chat template: {error}")))?;
        Ok(Self(environment))
    }

    /// The prompt of a conversation, up to the start of the answer.
    pub(crate) fn text(&self, messages: &[Message], tokens: &Tokenizer) -> Result<String, Refusal> {
        let messages: Vec<Message> = messages
            .iter()
            .map(|message| Message {
                role: message.role.clone(),
                content: tokens.apart(&message.content),
            })
            .collect();
        let template = self.0.get_template(NAME);
        let text = template.and_then(|template| {
            template.render(context! {
                messages,
                bos_token => tokens.begin_text,
                eos_token => tokens.end_text,
                add_generation_prompt => true,
            })
        });
        text.map_err(|error| {
            let words = error.detail().map_or_else(|| error.to_string(), str::to_owned);
            Refusal::Template(printable_line(&words))
        })
    }
}
