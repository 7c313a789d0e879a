//! The points of one application, as one server has taken them.

use std::collections::BTreeMap;
use std::ops::Range;

use uuid::Uuid;

use crate::point::Point;
use crate::step::Step;

/// More instances than this in one row are not told from each other: the points of those that were seen last stay their own.
pub const MOST_INSTANCES: usize = 100;

/// What a point is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The application: what is of none of its instances.
    Whole,
    /// Instances that are not told from each other.
    Others,
    Instance(Instance),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    pub deployment_id: Uuid,
    /// The row of its container.
    pub container_id: Uuid,
    pub ordinal: u32,
    /// Of a compose file; else empty.
    pub service: String,
}

/// By the second at which each point begins.
pub type Points = BTreeMap<i64, Point>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    series: BTreeMap<Subject, Points>,
}

impl Figures {
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    pub fn series(&self) -> impl Iterator<Item = (&Subject, &Points)> {
        self.series.iter()
    }

    /// When the last point begins.
    pub fn last(&self) -> Option<i64> {
        self.series.values().filter_map(|points| points.last_key_value().map(|(at, _)| *at)).max()
    }

    /// A second point at the same time goes on where the first one ended.
    pub fn add(&mut self, subject: Subject, at: i64, point: &Point) {
        let points = self.series.entry(subject).or_default();
        let joined = points.get(&at).map_or_else(|| point.clone(), |before| before.then(point));
        points.insert(at, joined);
    }

    pub(crate) fn insert(&mut self, subject: Subject, points: Points) {
        self.series.insert(subject, points);
    }

    /// Takes the others' points beside its own.
    pub fn extend(&mut self, others: Self) {
        for (subject, points) in others.series {
            self.series.entry(subject).or_default().extend(points);
        }
    }

    /// All points within a time are these from now on.
    pub fn replace(&mut self, time: Range<i64>, points: Self) {
        for own in self.series.values_mut() {
            own.retain(|at, _| !time.contains(at));
        }
        self.extend(points);
        self.series.retain(|_, points| !points.is_empty());
    }

    /// Those within a time alone.
    #[must_use]
    pub fn within(&self, time: Range<i64>) -> Self {
        let mut part = Self::default();
        for (subject, points) in &self.series {
            let points: Points = points.range(time.clone()).map(|(at, point)| (*at, point.clone())).collect();
            if !points.is_empty() {
                part.insert(subject.clone(), points);
            }
        }
        part
    }

    /// The same in coarser points.
    #[must_use]
    pub fn in_steps(&self, step: Step) -> Self {
        let mut coarser = Self::default();
        for (subject, points) in &self.series {
            for (at, point) in points {
                coarser.add(subject.clone(), step.point_of(*at), point);
            }
        }
        coarser
    }

    /// Bounds how many instances are told from each other.
    pub fn bound(&mut self) {
        let mut instances: Vec<(i64, Subject)> = Vec::new();
        for (subject, points) in &self.series {
            if matches!(subject, Subject::Instance(_)) {
                instances.push((points.last_key_value().map_or(i64::MIN, |(at, _)| *at), subject.clone()));
            }
        }
        instances.sort();
        let too_many = instances.len().saturating_sub(MOST_INSTANCES);
        for (_, subject) in instances.into_iter().take(too_many) {
            let points = self.series.remove(&subject).unwrap_or_default();
            let others = self.series.entry(Subject::Others).or_default();
            for (at, point) in points {
                let joined = others.get(&at).map_or_else(|| point.clone(), |before| before.beside(&point));
                others.insert(at, joined);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Usage;
    use crate::step::{FINE, MINUTE};

    fn instance(number: u128) -> Subject {
        let id = Uuid::from_u128(number);
        Subject::Instance(Instance { deployment_id: id, container_id: id, ordinal: 1, service: String::new() })
    }

    fn used(cpu_us: u64) -> Point {
        let usage = Usage { measured_ms: 10_000, cpu_us, memory: 100, peak: 100, ..Usage::default() };
        Point { usage: Some(usage), visits: None }
    }

    fn cpu(figures: &Figures) -> u64 {
        let all = figures.series().flat_map(|(_, points)| points.values());
        all.filter_map(|point| point.usage.map(|usage| usage.cpu_us)).sum()
    }

    #[test]
    fn coarser_points_have_all_of_the_finer_ones() {
        let mut fine = Figures::default();
        for second in (0..120).step_by(10).filter(|second| *second != 30) {
            fine.add(instance(1), FINE.point_of(second), &used(7));
        }
        let coarser = fine.in_steps(MINUTE);
        let (_, points) = coarser.series().next().unwrap();
        assert_eq!(points.keys().copied().collect::<Vec<_>>(), [0, 60]);
        assert_eq!(points[&0].usage.map(|usage| (usage.measured_ms, usage.cpu_us)), Some((50_000, 35)));
        assert_eq!((cpu(&coarser), cpu(&fine), coarser.last()), (77, 77, Some(60)));
        assert_eq!(cpu(&fine.within(60..120)), 42);
    }

    #[test]
    fn instances_beyond_the_bound_are_put_together() {
        let mut figures = Figures::default();
        let count = MOST_INSTANCES as u128 + 10;
        for number in 0..count {
            figures.add(instance(number), (number / 2) as i64 * 10, &used(1));
        }
        figures.bound();
        assert_eq!((figures.series().count(), u128::from(cpu(&figures))), (MOST_INSTANCES + 1, count));
        let others = figures.series().find(|(subject, _)| **subject == Subject::Others).unwrap().1;
        assert_eq!(others.len(), 5);
        assert_eq!(others[&0].usage.map(|usage| (usage.measured_ms, usage.memory)), Some((10_000, 200)));
    }

    #[test]
    fn a_time_is_replaced_as_a_whole() {
        let mut figures = Figures::default();
        figures.add(instance(1), 0, &used(1));
        figures.add(instance(1), 60, &used(2));
        figures.add(instance(2), 60, &used(4));
        let mut anew = Figures::default();
        anew.add(instance(3), 60, &used(8));
        figures.replace(60..120, anew.clone());
        assert_eq!((figures.series().count(), cpu(&figures)), (2, 9));
        let once = figures.clone();
        figures.replace(60..120, anew);
        assert_eq!(figures, once);
    }
}
