//! What each lane has of its own, where all lanes would change the same memory otherwise.
//!
//! Memory that several cores change goes from one to the other each time, and whoever needs it waits
//! longer than for anything else that a request does in memory.

use crate::lane;

/// One value for each lane.
#[derive(Debug)]
pub(crate) struct Apart<T>(Box<[Alone<T>]>);

/// Shares no line of a cache with anything else; processors fetch two lines at once.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Alone<T>(T);

impl<T> Apart<T> {
    /// As many values as there are lanes, unless one of them cannot be made.
    pub(crate) fn try_new(make: impl FnMut() -> Option<T>) -> Option<Self> {
        let all = std::iter::repeat_with(make).take(lane::numbers());
        all.map(|value| value.map(Alone)).collect::<Option<_>>().map(Self)
    }

    /// The one of this thread's lane.
    pub(crate) fn own(&self) -> &T {
        &self.0[lane::number()].0
    }

    /// Those of all lanes.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|value| &value.0)
    }
}

impl<T: Default> Default for Apart<T> {
    fn default() -> Self {
        Self((0..lane::numbers()).map(|_| Alone::default()).collect())
    }
}
