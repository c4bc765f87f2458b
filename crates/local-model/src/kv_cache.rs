//! The KV cache: keys and values of computed tokens, reused by the tokens that follow.

#[derive(Debug, Clone)]
pub(crate) struct KvCache {
    tokens: Vec<u32>,
    layers: Vec<KvCacheLayer>,
    head: usize,
}

/// Keys and values of one layer: for each shared head, one row per token.
#[derive(Debug, Clone)]
pub(crate) struct KvCacheLayer {
    pub(crate) keys: Vec<Vec<f32>>,
    pub(crate) values: Vec<Vec<f32>>,
}

impl KvCache {
    pub(crate) fn new(layers: usize, kv_heads: usize, head: usize) -> Self {
        let empty = vec![Vec::new(); kv_heads];
        let layer = KvCacheLayer { keys: empty.clone(), values: empty };
        Self { tokens: Vec::new(), layers: vec![layer; layers], head }
    }

    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        let rows = self.layers.iter().flat_map(|layer| layer.keys.iter().chain(&layer.values));
        rows.map(|rows| rows.capacity() * size_of::<f32>()).sum()
    }

    /// Length of the common prefix with other tokens.
    pub(crate) fn common(&self, tokens: &[u32]) -> usize {
        self.tokens.iter().zip(tokens).take_while(|(left, right)| left == right).count()
    }

    /// A copy of the first tokens.
    pub(crate) fn first(&self, count: usize) -> Self {
        let rows = |all: &Vec<Vec<f32>>| {
            all.iter().map(|rows| rows[..count * self.head].to_vec()).collect()
        };
        let layer = |layer: &KvCacheLayer| KvCacheLayer {
            keys: rows(&layer.keys),
            values: rows(&layer.values),
        };
        Self {
            tokens: self.tokens[..count].to_vec(),
            layers: self.layers.iter().map(layer).collect(),
            head: self.head,
        }
    }

    pub(crate) fn shrink(&mut self) {
        for layer in &mut self.layers {
            for rows in layer.keys.iter_mut().chain(&mut layer.values) {
                rows.shrink_to_fit();
            }
        }
    }

    /// The layers, each to be extended by rows of the same tokens.
    pub(crate) fn layers(&mut self) -> &mut [KvCacheLayer] {
        &mut self.layers
    }

    /// Adds tokens after every layer was extended by their rows.
    pub(crate) fn extend(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }
}
