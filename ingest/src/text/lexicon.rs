//! Word lists of English: function words, words too general to be a concept, common verbs.
//!
//! They are the only knowledge of a language in the built-in extraction. A look-up is one hash.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A list of words, read when it is first asked.
type Words = LazyLock<HashSet<&'static str>>;

/// Whether a lower-case word is a function word: article, pronoun, preposition, auxiliary, adverb.
pub(crate) fn is_stop(word: &str) -> bool {
    STOP.contains(word) || word.contains("n't") || word.contains("n’t")
}

/// Whether a lower-case singular noun or adjective is too general to name a concept by itself.
pub(crate) fn is_general(word: &str) -> bool {
    GENERAL.contains(word)
}

/// Whether a lower-case adjective or numeral singles something out without naming it (`same`).
pub(crate) fn is_weak(word: &str) -> bool {
    WEAK.contains(word)
}

/// Whether a lower-case singular noun names nothing even behind an adjective (`way`, `reason`).
pub(crate) fn is_vague(word: &str) -> bool {
    VAGUE.contains(word)
}

/// Whether a lower-case word is a form of a common verb.
pub(crate) fn is_verb(word: &str) -> bool {
    let known = |base: &str| VERBS.contains(base);
    if known(word) {
        return true;
    }
    let cut = |ending: &str| word.strip_suffix(ending);
    let doubled = |base: &str| {
        let b = base.as_bytes();
        b.len() > 3 && b[b.len() - 1] == b[b.len() - 2] && known(&base[..base.len() - 1])
    };
    let with_e =
        |base: &str| base.len() > 1 && (known(base) || known(&format!("{base}e")) || doubled(base));
    cut("s").is_some_and(known)
        || cut("es").is_some_and(known)
        || cut("ies").is_some_and(|base| known(&format!("{base}y")))
        || cut("ied").is_some_and(|base| known(&format!("{base}y")))
        || cut("ed").is_some_and(with_e)
        || cut("ing").is_some_and(with_e)
}

/// Whether a lower-case word is a common verb in its base form, or an irregular form.
pub(crate) fn is_base_verb(word: &str) -> bool {
    VERBS.contains(word)
}

/// Whether a word in -ing behind a noun rather goes on than names (`a process running`).
#[rustfmt::skip]
pub(crate) fn is_participle(word: &str) -> bool {
    matches!(
        word,
        "adding" | "being" | "calling" | "coming" | "containing" | "doing" | "getting" | "going"
        | "having" | "holding" | "including" | "leaving" | "looking" | "making" | "pointing"
        | "reading" | "returning" | "running" | "saying" | "showing" | "starting" | "taking"
        | "trying" | "using" | "waiting" | "working" | "writing"
    )
}

/// Whether a word ends like an adverb or a participle that starts or ends no name.
pub(crate) fn is_adverb(word: &str) -> bool {
    word.len() > 4
        && word.ends_with("ly")
        && !matches!(word, "family" | "assembly" | "anomaly" | "supply" | "reply")
}

/// The singular of plurals in s that no rule gives.
pub(crate) fn irregular_singular(word: &str) -> Option<&'static str> {
    Some(match word {
        "analyses" => "analysis",
        "appendices" => "appendix",
        "axes" => "axis",
        "bases" => "basis",
        "caches" => "cache",
        "hypotheses" => "hypothesis",
        "indices" => "index",
        "matrices" => "matrix",
        "theses" => "thesis",
        "vertices" => "vertex",
        "vortices" => "vortex",
        _ => return None,
    })
}

/// Words in s that are no plurals.
#[rustfmt::skip]
pub(crate) fn is_never_plural(word: &str) -> bool {
    matches!(
        word,
        "always" | "across" | "besides" | "does" | "perhaps" | "physics" | "mathematics"
        | "statistics" | "dynamics" | "mechanics" | "economics" | "genetics" | "news" | "series"
        | "species" | "lens" | "whereas" | "sometimes" | "towards" | "afterwards"
    )
}

/// Whether a lower-case word belongs to the apparatus of a text: references, files.
#[rustfmt::skip]
pub(crate) fn is_citation_word(word: &str) -> bool {
    matches!(
        word,
        "retrieved" | "archived" | "accessed" | "isbn" | "issn" | "doi" | "pmid" | "oclc" | "jstor"
        | "url" | "http" | "https" | "www" | "pdf" | "html" | "et" | "al" | "ibid" | "pp" | "vol"
        | "eds" | "edn"
    )
}

/// Whether a lower-case word names a month or a day of the week.
#[rustfmt::skip]
pub(crate) fn is_month(word: &str) -> bool {
    matches!(
        word,
        "january" | "february" | "march" | "april" | "may" | "june" | "july" | "august"
        | "september" | "october" | "november" | "december" | "monday" | "tuesday" | "wednesday"
        | "thursday" | "friday" | "saturday" | "sunday"
    )
}

/// Whether a lower-case singular noun heads the name of an institution or a reference work, which may be of one
/// thing and another.
#[rustfmt::skip]
pub(crate) fn is_institution(word: &str) -> bool {
    matches!(
        word,
        "academy" | "agency" | "association" | "board" | "bureau" | "center" | "centre"
        | "commission" | "committee" | "council" | "department" | "dictionary" | "directorate"
        | "division" | "encyclopedia" | "faculty" | "federation" | "foundation" | "handbook"
        | "institute" | "journal" | "minister" | "ministry" | "museum" | "office" | "review"
        | "school" | "secretary" | "society" | "union"
    )
}

/// Whether a lower-case singular noun counts the parts of a text: `Theorem 3`.
#[rustfmt::skip]
pub(crate) fn is_numbered(word: &str) -> bool {
    matches!(
        word,
        "algorithm" | "annex" | "assumption" | "axiom" | "chap" | "clause" | "conjecture"
        | "corollary" | "eq" | "eqn" | "fig" | "hypothesis" | "lecture" | "lemma" | "plate"
        | "postulate" | "proposition" | "sec" | "slide" | "theorem" | "week"
    ) || is_general(word)
}

/// Whether a lower-case word points at something before or after a noun (`the`, `this`, `its`).
#[rustfmt::skip]
pub(crate) fn is_determiner(word: &str) -> bool {
    matches!(
        word,
        "the" | "a" | "an" | "this" | "that" | "these" | "those" | "its" | "their" | "your" | "our"
        | "my" | "his" | "her" | "each" | "every" | "any" | "some" | "no" | "all" | "both" | "such"
    )
}

/// Whether a lower-case word is before a verb (`to`, modals, personal pronouns).
#[rustfmt::skip]
pub(crate) fn precedes_verb(word: &str) -> bool {
    matches!(
        word,
        "to" | "can" | "could" | "will" | "would" | "shall" | "should" | "may" | "might" | "must"
        | "cannot" | "not" | "n't" | "don't" | "doesn't" | "won't" | "can't" | "i" | "we" | "you"
        | "they" | "he" | "she" | "it" | "who" | "which" | "that" | "let" | "does" | "do" | "did"
        | "never" | "also" | "don’t" | "doesn’t" | "won’t" | "can’t"
    )
}

/// Function words, and adverbs that join or weaken sentences.
static STOP: Words = LazyLock::new(|| {
    "\
    a able about above abs according accordingly across actual actually after afterwards again
    against ago ahead albeit alike all allow allowed allows almost alone along already also
    alternatively although altogether always am amid among amongst an and and/or another any
    anybody anyhow anyone anything anyway anyways anywhere apart are aren't aren’t around as aside
    at away back be became because become becomes becoming been before beforehand behind being
    below beneath beside besides best better between beyond billion both but by came can can't
    cannot cant can’t certain certainly clearly come comes consequently could couldn't couldn’t
    currently despite did didn't didn’t directly do does doesn't doesn’t doing don't done don’t
    down due during e.g each early eg eight either else elsewhere enough entirely especially
    essentially et etc even eventually ever every everybody everyone everything everywhere exactly
    except fairly far few fewer finally first five following for former formerly forth four from
    fully further furthermore gave generally get gets getting give given gives giving go goes
    going gone got had hadn't hardly has hasn't hasn’t have haven't haven’t having he hence her
    here hereafter hereby herein hers herself him himself his how however hundred i i'd i'll i'm
    i've i.e ie if immediately in indeed initially inside instead into is isn't isn’t it it'd
    it'll it's its itself it’s i’m just keep keeps kept last lately later latter least less lest
    let let's lets let’s like likely likewise little long longer lot lots made mainly make makes
    making many may maybe me meanwhile merely might million mine more moreover most mostly much
    must my myself namely nd near nearly necessarily neither never nevertheless next nine no
    nobody non none none-the-less nonetheless nor normally not notably nothing now nowadays
    nowhere obviously of off often oh ok okay on once one ones only onto or other others otherwise
    ought our ours ourselves out outside over overall own particularly per perhaps please possibly
    potentially presumably previously primarily probably put puts quite rather re readily really
    recently regarding relatively respectively roughly said same say saying says second secondly
    see seem seemed seeming seems seen seven several shall she should shouldn't shouldn’t
    similarly simply since six so some somebody somehow someone something sometime sometimes
    somewhat somewhere soon st still subsequently such sufficiently sure take taken takes taking
    ten th than that that's that’s the their theirs them themselves then there there's thereafter
    thereby therefore therein thereof there’s these they they'd they'll they're they've they’re
    thing things third this those though thousand three through throughout thus till to today
    together tomorrow too took toward towards tried tries truly try trying twice two typically
    unable under unfortunately unless unlike until up upon us used useful useless uses using
    usually various versus very via vs was wasn't wasn’t way we we'd we'll we're we've well went
    were weren't weren’t we’ll we’re we’ve what what's whatever what’s when whence whenever where
    whereas whereby wherein wherever whether which whichever while who who's whoever whole whom
    whose why widely will with within without won't won’t worth would wouldn't wouldn’t yes
    yesterday yet you you'd you'll you're you've your yours yourself yourselves you’ll you’re
    you’ve zero"
        .split_whitespace()
        .collect()
});

/// Nouns and adjectives that stand in every text. As one word of a longer name they are fine.
static GENERAL: Words = LazyLock::new(|| {
    "\
    ability able above-mentioned absence abstract access accident account acknowledgement
    acknowledgements acknowledgment action activity actual addition additional adjacent advance
    advantage advice aforementioned age agreement aim alternative amount analogy analysis answer
    appendix application approach appropriate area argument arrangement article aspect assumption
    attempt attention author available average background bad base basic basis beginning behavior
    behaviour benefit bibliography big bit body book bottom boundary box brief bullet bunch
    capability capacity caption care case category cause caution center central challenge chance
    change chapter character characteristic check choice circumstance claim class clean clear
    client close code collection column combination common comparison complete complex complexity
    component computer concept conclusion condition cons consequence consideration constraint
    content contents context contrast contribution control convenience convention copy core
    correct corresponding cost count couple course cover credit current customer cut cycle damage
    danger data date day deal decade decision default definition degree demand description design
    detail development device diagram difference different difficult difficulty dimension direct
    direction disclaimer discussion distance distinct document drawback duty ease easy edge effect
    effective effectively efficiency efficient effort element email empty end entire entry
    environment equal error essential event evidence exact example excerpt exercise existence
    existing expectation experience expert explanation expression extent external extra fact
    factor failure fair false familiar family faq fast feature field figure file final fine fix
    flow focus food footnote force foreword form formal format foundation free friend front full
    functionality fundamental future game general goal good great ground group guarantee guide
    guideline habit half hand handful hard head heart height help hidden high hint history hit
    home hope hour house human idea identical illustration image immediate impact implication
    importance important impossible improvement inconvenience increase independent individual info
    information initial inner input insight instance instruction intention interest interesting
    interface internal introduction issue item job join key kind label lack language large late
    latest law lead left left-hand length lesson level library life light limit limitation line
    link list listing literature local location look loop loss low lower main major maker man
    manner mark match material matter maximum meaning means measure mechanism medium member
    mention message method middle mind minimal minimum minor minute miss mistake mode model modern
    moment money month motivation move multiple name narrow nature necessary need negative nice
    normal notation note notion number object objective observation obvious occasion office old
    open operation operator opinion opportunity opposite option order ordinary original outcome
    outer outline output overview owner page pair paper paragraph parameter part partial
    particular party past path pattern people percent performance period permission person
    perspective phase phrase picture piece place plain plan play point poor popular portion
    position positive possibility possible potential power practical practice precise preface
    preference prerequisite presence present previous price primary principle prior problem
    procedure process product program programme programmer project proof proper property proposal
    pros protection public purpose quality quantity question quick quickly random range rare rate
    raw reader real reality reason recap recent recommendation region regular related relation
    relationship relevant remainder remaining remark remarks reminder report representation
    request requirement research resource respect respective response rest restriction result
    resulting return review rich right right-hand role room root round row rule run safe sample
    scenario scheme school science scope section sense sentence separate sequence series serious
    service session set setting setup shape share short shortcut side sign significant similar
    similarity simple simplicity simplification single site situation size slight slow small
    society software solution sort sound source space special specific specification speed stage
    standard start starting state statement status step story straightforward strategy strength
    string strong structure student study stuff style subject subsequent subset success suggestion
    suitable sum summary support surface system table talk target task tbd team technical
    technique temporary term terminology test text theme thought threat time tip title todo tool
    top topic total track trade-off traditional transition trick trip trouble true truth tutorial
    type typical underlying understanding unique unit upper usage use user usual utility valid
    value variation variety version video view visible visit vital volume warning weak weakness
    website week weight wide width wish word work worker world wrong year young zone"
        .split_whitespace()
        .collect()
});

/// Common verbs in the base form, and irregular forms.
static VERBS: Words = LazyLock::new(|| {
    "\
    accept access accompany achieve acquire act acts add adjust adopt advise affect aid aim
    allocate allow analyze announce answer appear apply approach argue arise arrange arrive ask
    asks assert assign assist assume attach attack attempt avoid awaken be bear became become
    began begin begun behave believe belong bind block borrow bought bound break bring broken
    brought build built call came capture care carry catch caught cause change check choose chosen
    claim clean clear close code collect combine come commit communicate compare compile complain
    complete compute concern conclude confirm confuse connect consider consist construct contain
    continue contribute control convert copy correct correspond cost count cover create cut deal
    decide declare decrease define deliver demand demonstrate deny depend describe design destroy
    determine develop did differ disappear discard discover discuss distinguish divide do done
    draw drawn drew driven drop eat eaten eliminate emit emphasize enable encounter encourage end
    enforce ensure enter equal establish estimate evaluate examine exceed execute exist exit
    expand expect explain explore expose express extend face facilitate fail fall fallen feel fell
    felt fill find finish fit fix follow forbid force forget forgotten form found free function
    gain gave generate get give given go goes gone got grant grew grow grown guarantee handle
    happen happens have hear held help hidden hide hit hold hope identify ignore illustrate
    imagine implement imply import improve include increase indicate inform inherit initialize
    insert insist inspect install intend interact introduce invoke involve issue iterate join jump
    justify keep kept knew know known lack laid last lay lead learn leave led left lent let lie
    limit link list listen live load look lose lost made maintain make manage manipulate mark
    match matter mean meant measure meet mention merge met miss modify monitor move name need
    notice notify obey observe obtain occur offer omit open operate organize overlap overwrite own
    pack pass pay perform permit pick place plan play point pop possess precede predict prefer
    prepare present preserve press prevent print proceed process produce prohibit promise protect
    prove provide publish pull push put raise ran reach react read realize receive recognize
    recommend record reduce refer reference reflect refuse regard reject relate release rely
    remain remember remind remove rename repeat replace reply report represent request require
    reserve reset resolve respond rest restrict result return reuse reveal review rewrite rise
    risen run satisfy save saw say says scale search see seek seem seen select send sent separate
    serve set share shift show shown shrink shut sit skip sleep slept sold solve sound speak
    specify spend spent split spoke spoken stand start state stay steal step stood stop store
    strengthen stuck study succeed suffer suggest summarize supply support suppose surround
    survive swapped switch take taken talk taught teach tell tend terminate test think thought
    threw throw thrown tie told took touch track transfer transform translate traverse treat
    trigger try turn understand understood update use utilize vary verify view violate visit wait
    wake wakes walk want wanted warn waste watch wear went win wish woken won wonder wore work
    worn worry wrap write written wrote yield"
        .split_whitespace()
        .collect()
});

/// Adjectives and numerals that single something out without naming it.
static WEAK: Words = LazyLock::new(|| {
    "\
    actual additional adjacent appropriate available bad basic best better big certain clear
    common complete complex considerable convenient corresponding crucial current desired
    different difficult direct easy empty entire essential exact exciting existing extra fair
    familiar few final fine first five following former four free full fundamental further general
    given good great hard helpful high huge ideal identical ill important impossible incorrect
    increasing individual initial interested interesting internal invalid known large larger
    largest last late later latter left legal less likely little long low main major many maximum
    minimum minor modern more most much multiple natural necessary new next nice normal novel
    obvious old only open opposite optional ordinary original other overall own partial particular
    perfect plain poor popular possible potential precise present previous primary proper quick
    quite rare real realistic reasonable recent regular related relevant remaining required
    respective resulting rich right same satisfied second sensible separate serious several short
    significant similar simple single slight small smaller smallest so-called sole sophisticated
    special specific standard straightforward strong subsequent such sufficient suitable sure ten
    third three tiny total true two typical underlying unique unknown unnecessary unusual useful
    usual valid various vital weak well-known whole wide worse worst wrong young"
        .split_whitespace()
        .collect()
});

/// Nouns that name nothing even behind an adjective.
static VAGUE: Words = LazyLock::new(|| {
    "\
    advantage amount approach aspect author benefit bit case chance chapter couple day detail
    difference disadvantage discussion downside drawback effort everything example excerpt
    exercise fact figure following goal half idea instance issue kind listing lot manner mean
    means minute moment month need one other paragraph part people piece place plenty possibility
    purpose question reader reason rest section sense shot side something sort step thing thought
    time today topic trick trouble upside variety way week year"
        .split_whitespace()
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_small_letters_and_none_is_empty() {
        for list in [&STOP, &GENERAL, &VERBS, &WEAK, &VAGUE] {
            assert!(list.len() > 50);
            assert!(list.iter().all(|word| *word == word.to_lowercase()));
        }
    }

    #[test]
    fn forms_of_verbs_are_known() {
        for word in [
            "use", "uses", "using", "used", "stopped", "running", "copies", "copied", "passes",
        ] {
            assert!(is_verb(word), "{word}");
        }
        for word in ["ownership", "ring", "bed", "string", "species"] {
            assert!(!is_verb(word), "{word}");
        }
    }
}
