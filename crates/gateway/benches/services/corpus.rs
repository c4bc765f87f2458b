//! Documents and questions that are the same in every run: made-up words, some of which are said
//! often and most of which seldom, as in any language.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use fastrand::Rng;

/// How many words there are.
const VOCABULARY: u32 = 40_000;
/// How many subjects documents have, and how many words belong to each.
const SUBJECTS: u32 = 300;
const WORDS_OF_SUBJECT: u32 = 60;
/// The words of subjects are none of the commonest.
const FIRST_OF_SUBJECTS: u32 = 400;
/// How many words of a hundred belong to the subject.
const SHARE_OF_SUBJECT: u32 = 25;
/// How many words a document has.
const LENGTHS: std::ops::RangeInclusive<usize> = 50..=400;
const WORDS_IN_A_PARAGRAPH: usize = 70;
/// How many documents lie in one folder.
const IN_A_FOLDER: usize = 1000;
/// Of a hundred questions: so many are made of the words of one document, so many of any words;
/// the rest has a word that nobody wrote.
const OF_A_DOCUMENT: u32 = 75;
const OF_ANY_WORDS: u32 = 20;

/// All words, and how often each is said.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// The share of each word and of all before it, from 0 to 1.
    shares: Vec<f64>,
}

impl Corpus {
    /// The frequency of a word falls with its rank, as Zipf and Mandelbrot say.
    pub(crate) fn new() -> Self {
        let mut sum = 0.0;
        let mut shares: Vec<f64> = (0..VOCABULARY)
            .map(|rank| {
                sum += 1.0 / (f64::from(rank) + 2.7);
                sum
            })
            .collect();
        for share in &mut shares {
            *share /= sum;
        }
        Self { shares }
    }

    /// A word, as often as it is said.
    fn word(&self, random: &mut Rng) -> String {
        let at = random.f64();
        let rank = self.shares.partition_point(|share| *share < at);
        spelled(u32::try_from(rank).expect("a rank").min(VOCABULARY - 1))
    }

    /// The words of a document.
    fn words(&self, number: usize) -> Vec<String> {
        let mut random = of_number(number);
        let subject = random.u32(..SUBJECTS);
        let length = random.usize(LENGTHS);
        let word = |_| {
            if random.u32(..100) < SHARE_OF_SUBJECT {
                // The first words of a subject are said more often than its last.
                let place = random.u32(..WORDS_OF_SUBJECT).min(random.u32(..WORDS_OF_SUBJECT));
                spelled(FIRST_OF_SUBJECTS + subject * WORDS_OF_SUBJECT + place)
            } else {
                self.word(&mut random)
            }
        };
        (0..length).map(word).collect()
    }

    /// A document: a title, and paragraphs of sentences.
    fn document(&self, number: usize) -> (String, String) {
        let words = self.words(number);
        let mut text = format!("# {}\n", sentence(&words[words.len() - 4..]));
        for paragraph in words.chunks(WORDS_IN_A_PARAGRAPH) {
            text.push('\n');
            for said in paragraph.chunks(14) {
                let _ = write!(text, "{}. ", sentence(said));
            }
            text.push('\n');
        }
        let name = format!("{}-{number}.md", words[words.len() - 1]);
        (name, text)
    }

    /// So many sentences of so many words.
    pub(crate) fn sentences(&self, random: &mut Rng, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let length = random.usize(8..24);
            let words: Vec<String> = (0..length).map(|_| self.word(random)).collect();
            let _ = write!(text, "{}. ", sentence(&words));
        }
        text.trim_end().to_owned()
    }

    /// Writes documents into a folder; gives how many bytes they have.
    pub(crate) fn write(&self, folder: &Path, count: usize) -> u64 {
        let mut bytes = 0;
        for number in 0..count {
            let within = folder.join(format!("part{:03}", number / IN_A_FOLDER));
            if number % IN_A_FOLDER == 0 {
                fs::create_dir_all(&within).expect("a folder");
            }
            let (name, text) = self.document(number);
            bytes += u64::try_from(text.len()).expect("a length");
            fs::write(within.join(name), text).expect("a document");
        }
        bytes
    }

    /// What a document is about: words of its title.
    pub(crate) fn title(&self, number: usize) -> String {
        let words = self.words(number);
        words[words.len() - 3..].join(" ")
    }

    /// So many questions of one to four words, no two of them alike, to so many documents.
    pub(crate) fn questions(&self, seed: u64, count: usize, documents: usize) -> Vec<String> {
        let mut random = Rng::with_seed(seed);
        let mut known = HashSet::new();
        while known.len() < count {
            let length = random.usize(1..=4);
            let kind = random.u32(..100);
            let mut words: Vec<String> = if kind < OF_A_DOCUMENT {
                let document = self.words(random.usize(..documents));
                (0..length).map(|_| document[random.usize(..document.len())].clone()).collect()
            } else {
                (0..length).map(|_| self.word(&mut random)).collect()
            };
            if kind >= OF_A_DOCUMENT + OF_ANY_WORDS {
                words[0] = format!("qq{}", random.u32(..));
            }
            known.insert(words.join(" "));
        }
        let mut questions: Vec<String> = known.into_iter().collect();
        // A set has no order.
        questions.sort_unstable();
        random.shuffle(&mut questions);
        questions
    }
}

/// What a document is made with: neighbours have nothing in common.
fn of_number(number: usize) -> Rng {
    let number = u64::try_from(number).expect("a number");
    let mut random = Rng::with_seed(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    random.u64(..);
    random
}

/// The word of a rank: two syllables, or three where there are no more of two.
fn spelled(rank: u32) -> String {
    const CONSONANTS: &[u8; 20] = b"bcdfghjklmnprstvwxyz";
    const VOWELS: &[u8; 5] = b"aeiou";
    let mut word = String::new();
    let mut rest = rank;
    for syllable in 0..3 {
        let (vowel, more) = (rest % 5, rest / 5);
        let (consonant, more) = (more % 20, more / 20);
        word.push(char::from(CONSONANTS[consonant as usize]));
        word.push(char::from(VOWELS[vowel as usize]));
        rest = more;
        if syllable == 1 && rest == 0 {
            break;
        }
    }
    word
}

/// Words with a capital at their beginning.
fn sentence(words: &[String]) -> String {
    let mut text = words.join(" ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
