//! The list of behaviours: for each, a name for the command line and a description.

use super::correct_server::Era;

/// The transports at which a behaviour applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportScope {
    /// The messages are wrong.
    Any,
    /// The lines or the process are wrong.
    Stdio,
    /// The HTTP responses are wrong.
    Http,
}

macro_rules! behaviours {
    ($($transport:ident $era:ident { $($variant:ident $name:literal $about:literal;)* })*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Behaviour {
            $($(#[doc = $about] $variant,)*)*
        }

        impl Behaviour {
            pub const ALL: &[Behaviour] = &[$($(Behaviour::$variant,)*)*];

            pub fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* }
            }

            pub fn about(self) -> &'static str {
                match self { $($(Self::$variant => $about,)*)* }
            }

            pub(super) fn era(self) -> Era {
                match self { $($(Self::$variant => Era::$era,)*)* }
            }

            pub fn transport(self) -> TransportScope {
                match self { $($(Self::$variant => TransportScope::$transport,)*)* }
            }
        }
    };
}

behaviours! {
    Any Legacy {
        Correct "correct" "nothing: version 2025-11-25 with a handshake, -32601 to server/discover";

        InitializeSilent "initialize-silent" "initialize is never answered";
        InitializeLate "initialize-late" "initialize is answered after two seconds";
        InitializeError "initialize-error" "initialize is answered with -32603, and so is server/discover";
        FutureVersion "future-version" "initialize answers the version 2099-01-01";
        NoServerVersion "no-server-version" "serverInfo has no version";
        NoServerInfo "no-server-info" "initialize answers without serverInfo and capabilities";
        DiscoverSilent "discover-silent" "server/discover is never answered, initialize works";
        UnsupportedThenLegacy "unsupported-then-legacy" "server/discover gets -32022 with data.supported 2025-11-25, initialize works";
        UnsupportedAlways "unsupported-always" "everything gets -32022 with data.supported 2099-01-01";

        ErrorNullId "error-null-id" "a call gets an error whose id is null";
        ResultNullId "result-null-id" "a call gets a result whose id is null";
        NoJsonrpc "no-jsonrpc" "a result without jsonrpc";
        Batch "batch" "a result inside an array, with a notification before it";
        ErrorNull "error-null" "a result with error null beside it";
        ResultAndError "result-and-error" "a result and a real error in one answer";
        NeitherResultNorError "neither" "an answer with neither result nor error";
        FloatCode "float-code" "an error whose code is -32000.5";
        StringCode "string-code" "an error whose code is a text";
        StringError "string-error" "an error that is a text";
        ErrorNoMessage "error-no-message" "an error without a message";
        ErrorHuge "error-huge" "an error message of 5 MB";
        BadUtf8 "bad-utf8" "a result with bytes that are not UTF-8";
        LoneSurrogate "lone-surrogate" "a result with the escape of half a surrogate pair";
        NulCharacter "nul-character" "a result with an escaped NUL and terminal escapes";
        DeepJson "deep-json" "structured content 10,000 levels deep";
        Line17Mb "line-17mb" "a result of 17 MB, which is legal";
        Line70Mib "line-70mib" "a result of 70 MiB";
        Twice "twice" "every call is answered twice, with other words the second time";
        StringId "string-id" "the id comes back as a text";
        FloatId "float-id" "the id comes back with a fraction of zero";
        UnknownId "unknown-id" "an answer to an id that was never used, then the right one";
        OnlyUnknownId "only-unknown-id" "a call gets only an answer to an id that was never used";
        MissingId "missing-id" "a call gets a result without an id";

        ExtraKeys "extra-keys" "a call result that also has tools, messages, contents, action, prompts";
        EmptyResult "empty-result" "a call result that is {}";
        NullResult "null-result" "a call result that is null";
        ArrayResult "array-result" "a call result that is an array";
        TextResult "text-result" "a call result that is a text";
        StructuredOnly "structured-only" "structured content and no content";
        StructuredArray "structured-array" "structured content that is an array";
        ContentText "content-text" "content that is a text instead of a list";
        UnknownBlocks "unknown-blocks" "content with unknown and half blocks around a good one";
        StructuredDuplicate "structured-duplicate" "structured content, and the same JSON as text";
        Text3Mb "text-3mb" "a text of 3,000,000 characters with a mark at each end";
        ManyImages "many-images" "a call result with twenty images";
        TagCharacters "tag-characters" "a text with invisible tag characters";
        BadBase64 "bad-base64" "an image whose data is not base64";
        IsErrorText "is-error-text" "isError is the text true";

        BadTools "bad-tools" "bad tools of every kind in the list, between good and other";
        ToolsNotList "tools-not-list" "tools/list answers tools as an object";
        ManyTools "many-tools" "20,000 tools in one page";
        HugeSchema "huge-schema" "one tool has a schema of 5 MB";
        EndlessPages "endless-pages" "every page of tools has a new cursor";
        SameCursor "same-cursor" "every page of tools has the same cursor";
        NullCursor "null-cursor" "nextCursor is null on the last page";
        NumberCursor "number-cursor" "nextCursor is a number, and the second page exists";
        ChangingTools "changing-tools" "the tool list is another one each time";
        RugPull "rug-pull" "from the second list on, good has another description and schema";
        ToolsLater "tools-later" "the first list is empty, then `list_changed`, then both tools";
        ListError "list-error" "tools/list gets an error, calls work";

        ProgressForever "progress-forever" "progress for ever and no result";
        ProgressThenResult "progress-then-result" "progress for a second, then the result";
        ProgressWrongToken "progress-wrong-token" "progress with a token that was never sent, then the result";
        CallSilent "call-silent" "a call is never answered";
        PingSilent "ping-silent" "ping is never answered, calls work";
        PingUnknown "ping-unknown" "ping gets -32601, calls work";
        PingDisturbs "ping-disturbs" "a call takes two seconds and fails when a ping comes meanwhile";
        NotificationFlood "notification-flood" "100,000 log notifications after the handshake";
        ListChangedFlood "list-changed-flood" "5,000 times `list_changed` after the handshake";
        AskRoots "ask-roots" "a call asks roots/list and waits for the answer, which it quotes";
        AskSampling "ask-sampling" "a call asks sampling/createMessage and waits for the answer, which it quotes";
        AskElicitation "ask-elicitation" "a call asks elicitation/create (a form) and waits for the answer, which it quotes";
        AskElicitationUrl "ask-elicitation-url" "a call asks elicitation/create (an address) and waits for the answer, which it quotes";
        AskUnknown "ask-unknown" "a call asks an unknown method and waits for the answer, which it quotes";
        AskFlood "ask-flood" "a call asks 5,000 times roots/list, ping and unknown methods, then is answered";
        AskOddIds "ask-odd-ids" "a call asks with ids null, 1.5, an object and one of the client's own, then is answered";

        TaskOutlives "task-outlives" "a call of good is a task that ends when another client connects";
        TaskForever "task-forever" "a call of good is a task that never ends";
        TaskGone "task-gone" "a call of good is a task that is unknown from then on";
        TaskNoId "task-no-id" "a call of good is a task without an id";
        TaskOdd "task-odd" "a call of good is a task with odd states, 1,000 notifications and no pause, that ends";
        HugeResource "huge-resource" "the resource has 100 MB";
        ManyArguments "many-arguments" "the prompt has 10,000 arguments";

        DieMidCall "die-mid-call" "the process ends with 3 in a call, with a last line on standard error";
        DieAtOnce "die-at-once" "the process ends with 0 before it reads anything";
        DieWithSecret "die-with-secret" "the process ends with 1 at once and quotes `HOSTILE_SECRET` on standard error";
    }
    Any Stateless {
        CorrectStateless "correct-stateless" "nothing: version 2026-07-28 only, -32601 to initialize";
        Modern32601 "modern-32601" "stateless only: initialize gets -32601";
        Modern32602 "modern-32602" "stateless only: initialize gets -32602";
        Modern32022 "modern-32022" "stateless only: initialize gets -32022 with data.supported";
        FloatTtl "float-ttl" "stateless: ttlMs is 1500.0";
        NegativeTtl "negative-ttl" "stateless: ttlMs is -1 and cacheScope is unknown";
        UnknownResultType "unknown-result-type" "stateless: a call result has an unknown resultType";
        InputRequired "input-required" "stateless: a call asks for input once, checks the state, quotes the answer";
        InputRequiredForever "input-required-forever" "stateless: a call asks for input for ever";
        InputRequiredEmpty "input-required-empty" "stateless: a call is `input_required` with a state only, then answered";
        InputRequiredNothing "input-required-nothing" "stateless: a call is `input_required` with neither requests nor state";
        HeaderMismatchOnce "header-mismatch-once" "stateless: the first call gets -32020";
        HeaderMismatchAlways "header-mismatch-always" "stateless: every call gets -32020";
        MissingCapability "missing-capability" "stateless: a call gets -32021";
        TaskForeverStateless "task-forever-stateless" "stateless: a call of good is a task that never ends";
        TaskAsksForever "task-asks-forever" "stateless: a call of good is a task that has another question each time";
    }
    Stdio Legacy {
        NoiseBefore "noise-before" "a banner on standard output before the first answer";
        NoiseBetween "noise-between" "a line of noise before every answer";
        JsonNoise "json-noise" "lines of JSON that are no messages before every answer";
        BlankLines "blank-lines" "empty lines around every answer";
        Reversed "reversed" "good is answered only after other was called, and other first";
        Crlf "crlf" "lines end with CR LF";
        Bom "bom" "the first line begins with a byte order mark";
        TwoOnALine "two-on-a-line" "a notification and the answer on one line";
        Pretty "pretty" "the answer to a call is spread over several lines";
        ContentLengthFrames "content-length-frames" "every answer has a Content-Length header in front";
        SlowDrip "slow-drip" "the answer to a call comes byte by byte, 20 ms each";
        DieAfterCall "die-after-call" "the process ends with 0 after every call it answered";
        Report "report" "a call answers with environment, arguments and working folder as JSON";
        HalfLineThenExit "half-line-then-exit" "half an answer, then the process ends with 0";
        NoFinalNewline "no-final-newline" "a whole answer without a newline, then the process ends with 0";
        EndlessLine "endless-line" "a call gets a line that never ends";
        StderrFlood "stderr-flood" "100 MB on standard error, without a newline, before a call is answered";
        StderrSecret "stderr-secret" "quotes `HOSTILE_SECRET` on standard error and serves on";
        Deaf "deaf" "stops reading standard input after the handshake";
        Stubborn "stubborn" "ignores the end of input and SIGTERM; has a child in its group and one in a separate session (ids in `HOSTILE_PIDS`)";
        LeaderLeaves "leader-leaves" "ends with its input, and leaves a child in its group that holds the pipes (ids in `HOSTILE_PIDS`)";
    }
    Http Legacy {
        Session404Once "session-404-once" "the first call gets 404 for the session, a new session works";
        Session404Always "session-404-always" "every call gets 404 for the session";
        Session404NewTools "session-404-new-tools" "as session-404-once, and the new session has a tool more";
        Session400Once "session-400-once" "the first call gets 400 with `session not found`";
        Session200Once "session-200-once" "the first call gets 200 with the error `session not found`";
        BadSessionId "bad-session-id" "the session id has spaces and high bytes";
        Status500 "status-500" "a call gets 500 with a text";
        Status500Once "status-500-once" "the first call gets 500";
        Status503RetryAfter "status-503-retry-after" "the first call gets 503 with Retry-After 1";
        Status429 "status-429" "the first call gets 429 with Retry-After 1";
        Status401 "status-401" "everything gets 401 with WWW-Authenticate and `resource_metadata`";
        Status401Bare "status-401-bare" "everything gets 401 without a challenge";
        Status401Call "status-401-call" "calls get 401, the rest works";
        Status403 "status-403" "everything gets 403";
        Status403Scope "status-403-scope" "a call gets 403 `insufficient_scope`";
        Status202 "status-202" "a call gets 202 and no body";
        Status204 "status-204" "a call gets 204";
        HtmlPage "html-page" "everything gets 200 and a web page";
        HtmlGet "html-get" "HEAD and GET get a web page, POST works";
        NotFound "not-found" "everything gets 404 and a web page";
        EmptyBody "empty-body" "a call gets 200 JSON of zero bytes";
        NotJson "not-json" "a call gets 200 JSON that is no JSON";
        WrongContentType "wrong-content-type" "a call gets a right answer as text/plain";
        NoContentType "no-content-type" "a call gets a right answer without a content type";
        CutBody "cut-body" "a call gets half of what Content-Length says, then the end";
        CutChunks "cut-chunks" "a call gets a chunked body without its end";
        ConflictingLengths "conflicting-lengths" "two Content-Length headers that differ";
        TinyChunks "tiny-chunks" "chunks of one byte with extensions and trailers";
        Drop "drop" "a call gets the end of the connection";
        DropOnce "drop-once" "the first call gets the end of the connection";
        CloseAfter "close-after" "the connection ends after every answer without saying so";
        Http10 "http10" "answers in HTTP/1.0 and closes";
        SlowHeaders "slow-headers" "a call gets a header byte by byte, for ever";
        HugeHeaders "huge-headers" "a call gets a header of 4 MB";
        Gzip "gzip" "a call gets a gzip body that was not asked for";
        Garbage "garbage" "a call gets bytes that are no HTTP";
        SseNoAnswer "sse-no-answer" "a call gets an event stream that ends without an answer";
        SseResume "sse-resume" "a call gets retry and id, the answer only to GET with Last-Event-ID";
        SseOdd "sse-odd" "event streams with comments, CRLF and CR, split data, no space, cut characters";
        SseForever "sse-forever" "a call gets comments for ever";
        SseHuge "sse-huge" "a call gets an event of 100 MB";
        SseNoEvents "sse-empty-events" "events without data, with unknown names, before the answer";
        SseCut "sse-cut" "the event stream ends inside the answer";
        RedirectOther "redirect-other" "everything is redirected (307) to another origin, which works";
        RedirectSame "redirect-same" "everything is redirected (308) to another path, which works";
        RedirectLoop "redirect-loop" "everything is redirected to itself";
        Redirect303 "redirect-303" "everything gets 303 to a page";
        Discover400Page "discover-400-page" "server/discover gets 400 and a web page, initialize works";
        Discover404 "discover-404" "server/discover gets 404 and a text, initialize works";
        Discover500 "discover-500" "server/discover gets 500, initialize works";
        Discover202 "discover-202" "server/discover gets 202, initialize works";
        PreflightSilent "preflight-silent" "HEAD and GET are never answered, POST works";
        Get405 "get-405" "GET gets 405, the rest works";
        GetDies "get-dies" "the GET stream ends at once each time";
        DeleteSilent "delete-silent" "DELETE is never answered";
        InitializedFails "initialized-fails" "notifications/initialized gets 500";
        SseOnly "sse-only" "the transport of 2024-11-05 at /sse, 405 to POST";
        SseElsewhere "sse-elsewhere" "the endpoint event points to another origin";
        SseNoEndpoint "sse-no-endpoint" "a stream of 2024-11-05 without the endpoint event";
        SseDrops "sse-drops" "the stream of 2024-11-05 ends in a call";
        SseRefusesPost "sse-refuses-post" "the POST of a call gets 500 in the transport of 2024-11-05";
    }
}

impl Behaviour {
    pub fn named(name: &str) -> Option<Behaviour> {
        Self::ALL.iter().copied().find(|behaviour| behaviour.name() == name)
    }

    /// Whether it uses the transport of 2024-11-05.
    pub fn is_old_sse(self) -> bool {
        matches!(
            self,
            Self::SseOnly
                | Self::SseElsewhere
                | Self::SseNoEndpoint
                | Self::SseDrops
                | Self::SseRefusesPost
        )
    }
}

#[cfg(test)]
mod tests;
