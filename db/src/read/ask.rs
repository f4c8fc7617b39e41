//! Questions answered in words: a search, then an answer from what it found, with citations.
//!
//! What answers, the first that can: the generator that the database was handed; sentences of the documents. A
//! question to the communities of the store ([`Strategy::Global`]) is answered from their digests, each asked
//! apart; where none has anything to say, it is answered from the hits.
//!
//! Always true: an answer rests on what its search returned, of the same view; a generator that fails costs no more
//! than its answer, and [`Answer::partial`] says so.
//!
//! Start reading at [`Database::ask`].

use std::collections::HashMap;
use std::time::Instant;

use loci_index::analysis::Analyzer;
use loci_index::text;
use loci_models::Generator;
use loci_query::answer::{
    Answer, AnswerText as InWords, ConceptSource, Hit, PartialReason, RelationHit,
};
use loci_query::cite::Citation;
use loci_query::critic::critique;
use loci_query::extractive::{self, AnswerSource, Quote, extractive_answer};
use loci_query::global::{
    COMMUNITIES, Community, MAP_TOKENS, PartialAnswer, REDUCE_TOKENS, map, reduce,
};
use loci_query::prompt::{
    Passage, Prompt, PromptMaterial, answer_prompt, is_not_relevant, map_prompt, parse_reply,
    reduce_prompt,
};
use loci_query::question::{ParsedQuestion, QuestionTerm};
use loci_query::tokens::TokenCounter;
use loci_query::{QueryError, SearchRequest, Strategy};
use loci_storage::StoreError;
use loci_storage::segment::Layer;

use crate::database::handle::Database;
use crate::error::Error;
use crate::state::snapshot::DatabaseSnapshot;
use loci_query::community::CommunityDigest as Digest;

/// Tokens of an answer that a generator writes.
const ANSWER_TOKENS: usize = 500;
/// Words of a question that are looked for in hits.
const WORDS_MAX: usize = 256;

impl Database {
    /// Answers a question in words, over the newest committed state: what [`Database::search`] returns, with
    /// [`Answer::answer`], and [`Answer::critique`] where [`SearchRequest::critic`] asks for it.
    ///
    /// The answer is written by [`Options::generator`](crate::Options::generator), where there is one. Without one,
    /// and when it fails, it consists of sentences of the documents. Every reference in it, as `[1]`, is to
    /// one of its citations. Where the store has nothing, it says so and has no citations.
    ///
    /// A request without [`SearchRequest::context_tokens`] gets those of the store's settings.
    ///
    /// # Errors
    /// As [`Database::search`].
    pub fn ask(&self, request: &SearchRequest) -> Result<Answer, Error> {
        let view = self.snapshot();
        self.ask_in(&view, request)
    }

    /// As [`Database::ask`], over a view that the caller holds.
    pub fn ask_in(
        &self,
        view: &DatabaseSnapshot,
        request: &SearchRequest,
    ) -> Result<Answer, Error> {
        let started = Instant::now();
        let mut answer = self.with_page_check(view, || {
            let mut asker = AnswerBuilder::new(self, view, request)?;
            asker.answer_in_words()?;
            Ok(asker.answer)
        })?;
        answer.took_us = started.elapsed().as_micros() as u64;
        Ok(answer)
    }

    /// What a generator is asked to answer the question from: for a model of your own.
    ///
    /// # Errors
    /// As [`Database::search`]; [`Error::Budget`] when [`SearchRequest::context_tokens`] has no room for it.
    pub fn prompt(&self, request: &SearchRequest) -> Result<Prompt, Error> {
        let view = self.snapshot();
        AnswerBuilder::new(self, &view, request)?.prompt()
    }
}

/// One question with what its search returned.
struct AnswerBuilder<'a> {
    generator: Option<&'a dyn Generator>,
    view: &'a DatabaseSnapshot,
    answer: Answer,
    question: ParsedQuestion,
    analyzer: Analyzer,
    budget: usize,
    counter: TokenCounter<'a>,
    is_global: bool,
    wants_critique: bool,
}

impl<'a> AnswerBuilder<'a> {
    fn new(
        database: &'a Database,
        view: &'a DatabaseSnapshot,
        request: &SearchRequest,
    ) -> Result<AnswerBuilder<'a>, Error> {
        let budget = match request.context_tokens {
            Some(tokens) => tokens,
            None => view.settings()?.context_tokens as usize,
        };
        let request = SearchRequest {
            context_tokens: Some(budget),
            answer: true,
            ..request.clone()
        };
        let answer = match database.search_in(view, &request) {
            Err(Error::Query(QueryError::NoDigests)) => {
                let strategy = Strategy::Hybrid;
                let request = SearchRequest {
                    strategy,
                    ..request.clone()
                };
                let mut answer = database.search_in(view, &request)?;
                answer.partial.push(PartialReason::NoDigests);
                answer
            }
            answer => answer?,
        };
        let mut analyzer = Analyzer::new();
        analyzer.set_languages(view.read_view.languages());
        let question = parse_question(view, &request.question, &mut analyzer)?;
        let global = Strategy::Global;
        Ok(AnswerBuilder {
            generator: database.inner().generator.as_deref(),
            // Digests speak of all chunks, so what a filter leaves is answered from the hits.
            is_global: request.filter.is_none()
                && (request.strategy == global || answer.strategy == global.name()),
            wants_critique: request.critic,
            view,
            answer,
            question,
            analyzer,
            budget,
            counter: database.inner().searcher.counter(),
        })
    }

    fn answer_in_words(&mut self) -> Result<(), Error> {
        let global = if self.is_global {
            self.answer_globally()?
        } else {
            None
        };
        let answer_text = match global {
            Some(answer_text) => answer_text,
            None => self.answer_from_hits(),
        };
        self.answer.answer = Some(answer_text);
        if self.wants_critique {
            let named = |how| matches!(how, ConceptSource::Dictionary | ConceptSource::Capitalised);
            let concepts = self.answer.concepts.iter().filter(|one| named(one.how));
            let concepts: Vec<&str> = concepts.map(|one| &one.name[..]).collect();
            // A passage says what it is about by where it stands, too.
            let hits = self.answer.hits.iter();
            let hits = hits.map(|hit| format!("{}. {}", hit.citation.path.join(". "), hit.text));
            let hits: Vec<String> = hits.collect();
            let hits: Vec<&str> = hits.iter().map(String::as_str).collect();
            let terms = &mut |text: &str| self.analyzer.terms(text);
            self.answer.critique = Some(critique(&self.question, &concepts, &hits, terms));
        }
        Ok(())
    }

    /// By the generator from the context, else by sentences of the hits.
    fn answer_from_hits(&mut self) -> InWords {
        if let (Some(generator), false) = (self.generator, self.answer.hits.is_empty()) {
            let prompt = prompt_from_hits(&self.answer, self.budget, self.counter);
            let prompt = prompt.map_err(|error| error.to_string());
            let reply = prompt.and_then(|prompt| {
                let reply = generate_reply(generator, &prompt.text, ANSWER_TOKENS)?;
                Ok((reply, prompt.citations))
            });
            match reply {
                Ok((reply, citations)) => return self.apply_reply(&reply, &citations),
                Err(error) => self.record_generator_error(error),
            }
        }
        let hits: Vec<AnswerSource<'_>> = self.answer.hits.iter().map(answer_source).collect();
        let budget = self.budget.min(extractive::ANSWER_TOKENS_DEFAULT);
        extractive_answer(
            &self.question,
            &hits,
            &mut |text: &str| self.analyzer.terms(text),
            budget,
            self.counter,
        )
    }

    /// From the digests of communities; `None` where none has anything to say.
    fn answer_globally(&mut self) -> Result<Option<InWords>, Error> {
        let digests = self.communities()?;
        if digests.is_empty() {
            self.answer.partial.push(PartialReason::NoDigestAnswers);
            return Ok(None);
        }
        if let Some(generator) = self.generator {
            let question = &self.answer.question;
            match generate_globally(generator, question, &digests, self.budget, self.counter) {
                Ok(Some((reply, citations))) => {
                    return Ok(Some(self.apply_reply(&reply, &citations)));
                }
                Ok(None) => return Ok(None),
                Err(error) => self.record_generator_error(error),
            }
        }
        let partials = self.partials(&digests);
        if partials.is_empty() {
            return Ok(None);
        }
        let terms = &mut |text: &str| self.analyzer.terms(text);
        let budget = self.budget.min(REDUCE_TOKENS);
        let reduced = reduce(&self.question, &partials, terms, budget, self.counter);
        Ok(Some(reduced))
    }

    /// The digests that answer: those of the communities that the search named, else of the coarsest level the
    /// nearest to the question by vector; where there is none, by what they say.
    ///
    /// Costs reading all digests of a level when the search named none.
    fn communities(&mut self) -> Result<Vec<Digest>, Error> {
        let named = self.answer.communities.iter().take(COMMUNITIES);
        let named = named.map(|community| self.view.digest_by_id(&community.id));
        let named: Vec<Digest> = named
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?;
        if !named.is_empty() {
            return Ok(named);
        }
        let levels = self
            .view
            .read_view
            .communities()
            .map_or(0, |of| of.level_count());
        let Some(coarsest) = levels.checked_sub(1) else {
            return Ok(Vec::new());
        };
        let mut digests = self.view.digests(coarsest)?;
        // A model that fails has told why in the search.
        let vector = self.view.embed(&self.answer.question).ok().flatten();
        let mut scored: Vec<(f32, Digest)> = Vec::with_capacity(digests.len());
        for digest in digests.drain(..) {
            let score = match (&vector, &digest.vector) {
                (Some(query), Some(vector)) => dot(query, vector),
                (Some(_), None) => -1.0,
                (None, _) => {
                    let terms = &mut |text: &str| self.analyzer.terms(text);
                    let mapped = map(
                        &self.question,
                        &community(&digest, &describe_digest(&digest)),
                        terms,
                        MAP_TOKENS,
                        self.counter,
                    );
                    mapped.map_or(0.0, |partial| partial.score)
                }
            };
            scored.push((score, digest));
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.truncate(COMMUNITIES);
        Ok(scored.into_iter().map(|(_, digest)| digest).collect())
    }

    fn partials(&mut self, digests: &[Digest]) -> Vec<PartialAnswer> {
        let partials = digests.iter().filter_map(|digest| {
            let about = describe_digest(digest);
            let terms = &mut |text: &str| self.analyzer.terms(text);
            let community = community(digest, &about);
            map(&self.question, &community, terms, MAP_TOKENS, self.counter)
        });
        partials.collect()
    }

    fn prompt(mut self) -> Result<Prompt, Error> {
        let digests = if self.is_global {
            self.communities()?
        } else {
            Vec::new()
        };
        if self.partials(&digests).is_empty() {
            return Ok(prompt_from_hits(&self.answer, self.budget, self.counter)?);
        }
        let about: Vec<String> = digests.iter().map(describe_digest).collect();
        let about: Vec<&str> = about.iter().map(String::as_str).collect();
        let quotes = digests.iter().flat_map(|digest| {
            let quotes = digest.sentences.iter();
            quotes.map(|quote| (&digest.title[..], quote))
        });
        let passages: Vec<Passage<'_>> = (1u32..)
            .zip(quotes)
            .map(|(rank, (title, quote))| Passage {
                rank,
                title,
                text: &quote.text,
                citation: &quote.citation,
            })
            .collect();
        let material = PromptMaterial {
            communities: &about,
            relations: &[],
            passages: &passages,
        };
        let question = &self.answer.question;
        Ok(answer_prompt(
            question,
            material,
            self.budget,
            self.counter,
        )?)
    }

    /// A generator's reply, its references checked.
    fn apply_reply(&mut self, reply: &str, citations: &[Citation]) -> InWords {
        let read = parse_reply(reply, citations);
        if read.removed > 0 {
            let reason = PartialReason::ReferencesRemoved(read.removed);
            self.answer.partial.push(reason);
        }
        read.digest
    }

    /// Notes that the generator did not answer.
    fn record_generator_error(&mut self, error: String) {
        let generator = self.generator.map_or("", |generator| generator.name());
        let generator = generator.to_owned();
        let reason = PartialReason::GeneratorFailed { generator, error };
        self.answer.partial.push(reason);
    }
}

/// The question's words, weighed by how rare they are among passages.
fn parse_question(
    view: &DatabaseSnapshot,
    question: &str,
    analyzer: &mut Analyzer,
) -> Result<ParsedQuestion, Error> {
    let mut tokens: Vec<(String, u32, String)> = Vec::new();
    analyzer.for_each_token(question, |token| {
        if (token.position as usize) < WORDS_MAX {
            let written = question[token.span].to_owned();
            tokens.push((token.term.to_owned(), token.position, written));
        }
    });
    let terms: Vec<&str> = tokens.iter().map(|(term, ..)| &term[..]).collect();
    let segments = view.read_view.text(Layer::Leaves);
    let weights = text::weights(&segments, &terms).map_err(StoreError::index)?;
    let mut often: HashMap<&str, f32> = HashMap::new();
    for term in &terms {
        *often.entry(*term).or_default() += 1.0;
    }
    // A word counts once, however often the question has it.
    let weights = weights.into_iter();
    let weights: HashMap<&str, f32> = weights
        .map(|(term, weight)| (term, weight / often.get(term).copied().unwrap_or(1.0)))
        .collect();
    let question_terms: Vec<QuestionTerm<'_>> = tokens
        .iter()
        .map(|(term, position, written)| QuestionTerm {
            term,
            position: *position,
            written,
        })
        .collect();
    let weight = |term: &str| weights.get(term).copied().unwrap_or(0.0);
    Ok(ParsedQuestion::new(&question_terms, &weight))
}

fn answer_source(hit: &Hit) -> AnswerSource<'_> {
    AnswerSource {
        text: &hit.text,
        citation: &hit.citation,
        rank: hit.rank,
        score: hit.score,
    }
}

fn prompt_from_hits(
    answer: &Answer,
    budget: usize,
    counter: TokenCounter<'_>,
) -> Result<Prompt, loci_query::prompt::BudgetTooSmall> {
    let shown = prompt_passages(answer);
    let passages: Vec<Passage<'_>> = shown
        .iter()
        .map(|shown| Passage {
            rank: shown.rank,
            title: shown.title,
            text: shown.text,
            citation: &shown.citation,
        })
        .collect();
    let communities: Vec<&str> = answer.communities.iter().map(|of| &of.digest[..]).collect();
    let material = PromptMaterial {
        communities: &communities,
        relations: &answer.relations,
        passages: &passages,
    };
    answer_prompt(&answer.question, material, budget, counter)
}

/// A passage of a prompt.
struct PromptPassage<'a> {
    rank: u32,
    title: &'a str,
    text: &'a str,
    citation: Citation,
}

/// The sections of the context, each cited by its best hit, over the characters of all its hits; the hits
/// themselves where there is no context.
fn prompt_passages(answer: &Answer) -> Vec<PromptPassage<'_>> {
    let sections = answer.context.iter().flat_map(|context| &context.sections);
    let sections: Vec<PromptPassage<'_>> = sections
        .filter_map(|section| {
            let hits = answer
                .hits
                .iter()
                .filter(|hit| section.hits.contains(&hit.rank));
            let hits: Vec<&Hit> = hits.collect();
            let best = hits.iter().min_by_key(|hit| hit.rank)?;
            let chars = hits.iter().filter_map(|hit| hit.citation.known_chars());
            let chars = chars.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            Some(PromptPassage {
                rank: best.rank,
                title: &section.title,
                text: &section.text,
                citation: Citation {
                    chars: chars.unwrap_or_default(),
                    ..best.citation.clone()
                },
            })
        })
        .collect();
    if !sections.is_empty() {
        return sections;
    }
    let alone = answer.hits.iter().map(|hit| PromptPassage {
        rank: hit.rank,
        title: hit.citation.path.first().map_or("", String::as_str),
        text: &hit.text,
        citation: hit.citation.clone(),
    });
    alone.collect()
}

/// What a community is about beside its sentences.
fn describe_digest(digest: &Digest) -> String {
    let relations = digest.relations.iter().map(|of| {
        let kind = of.kind.to_lowercase().replace('_', " ");
        format!(" {} {kind} {}.", of.source, of.target)
    });
    format!(
        "{}.{}",
        digest.members.join(", "),
        relations.collect::<String>()
    )
}

fn community<'d>(digest: &'d Digest, about: &'d str) -> Community<'d> {
    let quotes = digest.sentences.iter();
    let quotes = quotes.map(|one| Quote::new(&one.text, one.citation.clone()));
    Community {
        title: &digest.title,
        about,
        quotes: quotes.collect(),
    }
}

/// What a generator makes of the digests: each asked apart and all at once, then one answer of what they
/// said, with the citations that its references are to. `None` when none has anything to say.
fn generate_globally(
    generator: &dyn Generator,
    question: &str,
    digests: &[Digest],
    budget: usize,
    counter: TokenCounter<'_>,
) -> Result<Option<(String, Vec<Citation>)>, String> {
    let mut prompts = Vec::with_capacity(digests.len());
    let mut citations: Vec<Citation> = Vec::new();
    for digest in digests {
        let relations = digest.relations.iter().map(|of| RelationHit {
            source: of.source.clone(),
            kind: of.kind.clone(),
            target: of.target.clone(),
        });
        let relations: Vec<RelationHit> = relations.collect();
        let passages = (1u32..).zip(&digest.sentences);
        let passages: Vec<Passage<'_>> = passages
            .map(|(rank, one)| Passage {
                rank,
                title: &digest.title,
                text: &one.text,
                citation: &one.citation,
            })
            .collect();
        let material = PromptMaterial {
            communities: &[&digest.members.join(", ")],
            relations: &relations,
            passages: &passages,
        };
        let prompt = map_prompt(question, material, citations.len() + 1, budget, counter);
        let prompt = prompt.map_err(|error| error.to_string())?;
        citations.extend(prompt.citations);
        prompts.push(prompt.text);
    }
    let replies: Vec<Result<String, String>> = std::thread::scope(|scope| {
        let ask = |prompt: &str| {
            let reply = generator.generate(prompt, MAP_TOKENS);
            reply.map_err(|error| error.to_string())
        };
        let calls = prompts.iter().map(|prompt| {
            let thread = std::thread::Builder::new().name("loci-ask".into());
            // What no thread can be started for is asked here.
            let spawned = thread.spawn_scoped(scope, move || ask(prompt));
            spawned.map_err(|_| prompt)
        });
        let calls: Vec<_> = calls.collect();
        let panicked = |_| Err("it panicked".to_owned());
        let results = calls.into_iter().map(|call| match call {
            Ok(call) => call.join().unwrap_or_else(panicked),
            Err(prompt) => ask(prompt),
        });
        results.collect()
    });
    let replies = replies
        .into_iter()
        .collect::<Result<Vec<String>, String>>()?;
    let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
    let relevant: Vec<&str> = replies
        .into_iter()
        .filter(|one| !is_not_relevant(one))
        .collect();
    if relevant.is_empty() {
        return Ok(None);
    }
    let prompt =
        reduce_prompt(question, &relevant, budget, counter).map_err(|error| error.to_string())?;
    let reply = generate_reply(generator, &prompt.text, REDUCE_TOKENS)?;
    Ok(Some((reply, citations)))
}

/// A reply that says something.
fn generate_reply(
    generator: &dyn Generator,
    prompt: &str,
    tokens_max: usize,
) -> Result<String, String> {
    match generator.generate(prompt, tokens_max) {
        Ok(reply) if reply.trim().is_empty() => Err("the reply is empty".into()),
        Ok(reply) => Ok(reply),
        Err(error) => Err(error.to_string()),
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
