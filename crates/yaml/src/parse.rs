use std::collections::HashMap;

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use crate::{Key, Node, Place, Problem, Value, at_index, at_key, scalar};

const LONGEST_KEY: usize = 1024;
const LONGEST_SCALAR: usize = 64 * 1024;
/// Trees are walked by functions that call themselves: whatever the limits say, none is deeper.
const DEEPEST: usize = 128;

/// How much a text may ask for.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of the text, and of all its keys and scalars together once aliases are expanded.
    pub bytes: usize,
    /// Lists and maps inside of each other; never more than 128.
    pub depth: usize,
    /// Scalars, lists and maps, once aliases are expanded.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 256 * 1024, depth: 32, nodes: 20_000 }
    }
}

/// The one document of a text. A text without any is `Null`.
pub fn parse(text: &str, limits: &Limits) -> Result<Node, Problem> {
    if text.len() > limits.bytes {
        let message = format!("the text has {} bytes; at most {} are allowed", text.len(), limits.bytes);
        return Err(Problem::new(Place::START, "", message));
    }
    let mut parser = Parser::new_from_str(text);
    let mut builder = Builder::new(limits, end(text));
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            Problem::new(builder.place(error.marker()), "", format!("this is not valid YAML: {}", error.info()))
        })?;
        builder.take(event, span)?;
    }
    Ok(builder.root.unwrap_or(Node::new(Value::Null, Place::START)))
}

/// The place behind the last character.
fn end(text: &str) -> Place {
    let mut place = Place::START;
    let mut before = '\0';
    for c in text.chars() {
        match c {
            '\n' if before == '\r' => {}
            '\n' | '\r' => place = Place { line: place.line + 1, column: 1 },
            _ => place.column += 1,
        }
        before = c;
    }
    place
}

/// A node that is complete, and what it costs to have it once more.
#[derive(Clone)]
struct Built {
    node: Node,
    nodes: usize,
    bytes: usize,
    /// Lists and maps from here down.
    depth: usize,
}

/// A list or a map whose end has not come yet.
struct Open {
    content: Content,
    place: Place,
    /// 0 if it has none.
    anchor: usize,
    nodes: usize,
    bytes: usize,
    depth: usize,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, places: HashMap<String, Place>, key: Option<Key> },
}

struct Builder<'a> {
    limits: &'a Limits,
    end: Place,
    open: Vec<Open>,
    anchors: HashMap<usize, Built>,
    nodes: usize,
    bytes: usize,
    has_document: bool,
    root: Option<Node>,
}

impl<'a> Builder<'a> {
    fn new(limits: &'a Limits, end: Place) -> Self {
        let (open, anchors) = (Vec::new(), HashMap::new());
        Self { limits, end, open, anchors, nodes: 0, bytes: 0, has_document: false, root: None }
    }

    /// The parser places what is missing at the end of a text on a line of its own, which is not there.
    fn place(&self, marker: &Marker) -> Place {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Place { line: number(marker.line().max(1)), column: number(marker.col() + 1) }.min(self.end)
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let place = self.place(&span.start);
        match event {
            Event::DocumentStart(..) => self.document(place),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                if self.wants_key() {
                    self.key(&text, is_plain, tag.as_deref(), place)
                } else {
                    self.scalar(&text, is_plain, anchor, tag.as_deref(), place)
                }
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.start(Content::List(Vec::new()), anchor, tag.as_deref(), place)
            }
            Event::MappingStart(_, anchor, tag) => {
                let content = Content::Map { entries: Vec::new(), places: HashMap::new(), key: None };
                self.start(content, anchor, tag.as_deref(), place)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            // Where the text and the document begin and end, and what the parser tells only on request.
            _ => Ok(()),
        }
    }

    fn document(&mut self, place: Place) -> Result<(), Problem> {
        if self.has_document {
            return Err(Problem::new(
                place,
                "",
                "a second document begins here; only one is allowed, so remove the line ---",
            ));
        }
        self.has_document = true;
        Ok(())
    }

    /// Whether the next scalar is the key of a map.
    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Map { key: None, .. }, .. }))
    }

    fn key(&mut self, text: &str, is_plain: bool, tag: Option<&Tag>, place: Place) -> Result<(), Problem> {
        let path = self.path();
        if let Some(tag) = tag {
            scalar::check_key(text, tag).map_err(|message| Problem::new(place, &path, message))?;
        }
        // The parser writes `~` for a key that is not there.
        let is_nothing = text.is_empty() || is_plain && text == "~";
        if is_nothing || text.len() > LONGEST_KEY {
            return Err(Problem::new(place, path, format!("a key must have 1 to {LONGEST_KEY} bytes")));
        }
        self.spend(0, text.len(), place)?;
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        open.bytes += text.len();
        if let Content::Map { places, key, .. } = &mut open.content {
            if let Some(first) = places.insert(text.into(), place) {
                let message =
                    format!("the key is already on line {}, column {}; remove one of them", first.line, first.column);
                return Err(Problem::new(place, at_key(&path, text), message));
            }
            *key = Some(Key { text: text.into(), place });
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        is_plain: bool,
        anchor: usize,
        tag: Option<&Tag>,
        place: Place,
    ) -> Result<(), Problem> {
        if text.len() > LONGEST_SCALAR {
            let message = format!("the text has {} bytes; at most {LONGEST_SCALAR} are allowed", text.len());
            return Err(self.problem(place, message));
        }
        self.spend(1, text.len(), place)?;
        let value = match tag {
            Some(tag) => scalar::tagged(text, tag).map_err(|message| self.problem(place, message))?,
            None if is_plain => scalar::plain(text),
            None => Value::Text(text.into()),
        };
        self.add(Built { node: Node { value, place }, nodes: 1, bytes: text.len(), depth: 0 }, anchor);
        Ok(())
    }

    fn start(&mut self, content: Content, anchor: usize, tag: Option<&Tag>, place: Place) -> Result<(), Problem> {
        if self.wants_key() {
            return Err(self.problem(place, "a key must be a text, not a list or a map"));
        }
        if let Some(tag) = tag {
            let kind = if matches!(content, Content::List(_)) { "seq" } else { "map" };
            scalar::check_collection(kind, tag).map_err(|message| self.problem(place, message))?;
        }
        self.spend(1, 0, place)?;
        self.check_depth(1, place)?;
        self.open.push(Open { content, place, anchor, nodes: 1, bytes: 0, depth: 1 });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.content {
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => Value::Map(entries),
        };
        let node = Node { value, place: open.place };
        self.add(Built { node, nodes: open.nodes, bytes: open.bytes, depth: open.depth }, open.anchor);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Problem> {
        if self.wants_key() {
            return Err(self.problem(place, "an alias cannot be a key; write the key out"));
        }
        let Some(known) = self.anchors.get(&anchor) else {
            return Err(self.problem(place, "the alias is inside of what it stands for; write the value out"));
        };
        let (nodes, bytes, depth) = (known.nodes, known.bytes, known.depth);
        // Before the copy is made: it may be what the bound is for.
        self.spend(nodes, bytes, place)?;
        self.check_depth(depth, place)?;
        if let Some(built) = self.anchors.get(&anchor).cloned() {
            self.add(built, 0);
        }
        Ok(())
    }

    /// Puts a node where it belongs: into the list or map that is open, or at the root.
    fn add(&mut self, built: Built, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(built.node);
            return;
        };
        open.nodes += built.nodes;
        open.bytes += built.bytes;
        open.depth = open.depth.max(built.depth + 1);
        match &mut open.content {
            Content::List(items) => items.push(built.node),
            Content::Map { entries, key, .. } => entries.extend(key.take().map(|key| (key, built.node))),
        }
    }

    fn spend(&mut self, nodes: usize, bytes: usize, place: Place) -> Result<(), Problem> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.nodes > self.limits.nodes {
            let message = format!("with its aliases expanded, the document has more than {} values", self.limits.nodes);
            return Err(self.problem(place, message));
        }
        if self.bytes > self.limits.bytes {
            let message = format!("with its aliases expanded, the document has more than {} bytes", self.limits.bytes);
            return Err(self.problem(place, message));
        }
        Ok(())
    }

    fn check_depth(&self, more: usize, place: Place) -> Result<(), Problem> {
        let most = self.limits.depth.min(DEEPEST);
        if self.open.len() + more > most {
            let message = format!("lists and maps are nested deeper than {most} levels here");
            return Err(self.problem(place, message));
        }
        Ok(())
    }

    fn problem(&self, place: Place, message: impl Into<String>) -> Problem {
        Problem::new(place, self.path(), message)
    }

    /// The path of the value that comes next.
    fn path(&self) -> String {
        self.open.iter().fold(String::new(), |path, open| match &open.content {
            Content::List(items) => at_index(&path, items.len()),
            Content::Map { key: Some(key), .. } => at_key(&path, &key.text),
            Content::Map { key: None, .. } => path,
        })
    }
}
