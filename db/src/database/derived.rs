//! What is derived from the whole store, brought up to date: vector spaces, the analysis of the concept graph, types of
//! concepts.
//!
//! Start reading at [`Database::finish`].

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use loci_graph::types::TypeSelection;
use loci_models::Embedder;
use loci_storage::DerivedIndex;

use crate::analysis::digests;
use crate::analysis::graph::{self, AnalysisReport, CentralConcept};
use crate::analysis::types::{self, TYPE_MAP_KEY, TypeMap};
use crate::database::handle::Database;
use crate::embedders::external_model::ExternalModel;
use crate::embedders::folder_model;
use crate::error::Error;
use crate::maintenance::{merge, recovery};
use crate::progress::Progress;
use crate::settings::EmbedderChoice;
use crate::spaces::embed_missing::embed_missing;
use crate::spaces::switch::{self, Target};
use crate::spaces::{choice, fit};

impl Database {
    /// Brings derived data up to date after writing: fits the built-in embedder when there is none yet or the corpus
    /// has doubled, measures the weight of vectors, merges what was written lately into few segments, ranks concepts
    /// and finds their communities.
    ///
    /// Searches go on with what they have until each is switched.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; the next call continues.
    pub fn finish(&self, progress: &dyn Progress) -> Result<(), Error> {
        self.rebuild(progress)?;
        let _turn = self.inner().switch_lock.lock();
        let view = self.snapshot();
        if let Some(folder) = choice::folder_to_switch_to(&view) {
            self.switch_to_folder(folder, progress)?;
        } else if let Some(external) = &view.external_model {
            embed_missing(self.inner(), external, progress)?;
        } else if fit::needs_fit(&view)? {
            switch::switch(self.inner(), &Target::Builtin, progress)?;
        }
        merge::merge_recent(self.inner(), progress)?;
        recovery::mark_recovered(self.inner(), DerivedIndex::Projection)?;
        self.wake_maintenance();
        graph::update(self.inner(), progress)?;
        recovery::mark_recovered(self.inner(), DerivedIndex::Analysis)
    }

    /// Fits the built-in embedder anew, whether it is due or not, measures the weight of its vectors, and switches
    /// to it from any other space. Searches and writes go on meanwhile. A refit that was interrupted, also by a crash,
    /// is continued.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so.
    pub fn refit(&self, progress: &dyn Progress) -> Result<(), Error> {
        self.rebuild(progress)?;
        let _turn = self.inner().switch_lock.lock();
        switch::switch(self.inner(), &Target::Builtin, progress)?;
        self.wake_maintenance();
        Ok(())
    }

    /// Switches to an external model: embeds all text that is to be embedded, measures the weight of the
    /// vectors, and then, in one commit, lets searches use the new vectors. Until then searches and writes use
    /// the space before. Call this again to continue a switch that was interrupted, also by a crash.
    ///
    /// Pass the model to [`Options::embedder`] when the store is opened the next time.
    ///
    /// # Errors
    /// [`Error::Embed`] when the model fails; what it has embedded is stored for the next call.
    /// [`Error::Interrupted`] when `progress` says so.
    pub fn switch_embedder(
        &self,
        embedder: Arc<dyn Embedder>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        self.rebuild(progress)?;
        let _turn = self.inner().switch_lock.lock();
        self.inner().store.index_factory().models.add(&embedder);
        let target = Target::External {
            model: ExternalModel::new(embedder),
            folder: None,
        };
        switch::switch(self.inner(), &target, progress)?;
        self.wake_maintenance();
        Ok(())
    }

    /// Switches to the model in a folder, as [`Database::switch_embedder`] does, and stores the folder in the setting
    /// `model`: from then on the store finds its model by itself, also when it is opened the next time. Where the
    /// store's vectors are of the same model already, only text without a vector is embedded.
    ///
    /// The folder holds `model.onnx` and `tokenizer.json`; programs are built with the feature `minilm`.
    ///
    /// # Errors
    /// As [`Database::switch_embedder`]; [`Error::Embed`] where the folder holds no model that embeds as it should.
    pub fn use_model(
        &self,
        folder: impl AsRef<Path>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let folder = folder.as_ref();
        let embed_error =
            |why: &dyn fmt::Display| Error::Embed(format!("{}: {why}", folder.display()));
        let folder = std::fs::canonicalize(folder).map_err(|error| embed_error(&error))?;
        let folder = folder
            .to_str()
            .ok_or_else(|| embed_error(&"its name is not UTF-8"))?;
        self.rebuild(progress)?;
        let _turn = self.inner().switch_lock.lock();
        self.switch_to_folder(folder.to_owned(), progress)
    }

    /// The caller holds `switch_lock`.
    fn switch_to_folder(&self, folder: String, progress: &dyn Progress) -> Result<(), Error> {
        let model = folder_model::open(Path::new(&folder))?;
        self.inner().store.index_factory().models.add(&model);
        let model = ExternalModel::new(model);
        let view = self.snapshot();
        let space = view.snapshot().active_space();
        if space.is_some_and(|space| model.matches_space(&space.record)) {
            choice::set_model_folder(self.inner(), folder)?;
            embed_missing(self.inner(), &model, progress)?;
        } else {
            let folder = Some(folder);
            switch::switch(self.inner(), &Target::External { model, folder }, progress)?;
        }
        self.wake_maintenance();
        Ok(())
    }

    /// Creates a vector space for vectors that the caller provides, and switches to it.
    ///
    /// `model`: its name, for the record. `dim`: 1 to 8,192. A store that is in that space already
    /// stays in it.
    pub fn use_provided_vectors(&self, model: &str, dim: usize) -> Result<(), Error> {
        let _turn = self.inner().switch_lock.lock();
        choice::use_provided_vectors(self.inner(), model, dim)?;
        self.wake_maintenance();
        Ok(())
    }

    /// Texts of the store that external models embedded since it was opened; the few that were written
    /// while a switch was being committed are not counted.
    pub fn embedded_texts(&self) -> u64 {
        self.inner().embedded_texts.load(Ordering::Relaxed)
    }

    /// Selects the built-in embedder or none. The space of another one is removed at once, and the built-in one is
    /// fitted by the next [`Database::finish`]; [`Database::refit`] fits it first and then switches.
    ///
    /// # Errors
    /// [`Error::Setting`] for [`EmbedderChoice::Folder`] where the settings name no folder: [`Database::use_model`]
    /// does.
    pub fn use_embedder(&self, choice: EmbedderChoice) -> Result<(), Error> {
        let _turn = self.inner().switch_lock.lock();
        choice::set_embedder(self.inner(), choice)?;
        self.wake_maintenance();
        Ok(())
    }

    /// The concepts that most shortest paths between others lead over, best first; ties by id.
    ///
    /// Costs 256 passes over all relations. The same graph and `seed` setting give the same answer.
    pub fn central_concepts(&self, limit: usize) -> Result<Vec<CentralConcept>, Error> {
        graph::central_concepts(&self.snapshot(), limit)
    }

    /// Analyses the concept graph, whether it has changed or not: PageRank, communities by Leiden, and a digest
    /// of each that has none yet. [`Database::finish`] does the same where the graph has changed, without digests.
    ///
    /// Costs some ten passes over all relations, and for each new digest some reads of rows; searches and writes
    /// go on meanwhile.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; digests that were written stay.
    pub fn analyse(&self, progress: &dyn Progress) -> Result<AnalysisReport, Error> {
        self.rebuild(progress)?;
        self.recover(progress)?;
        let inner = self.inner();
        let _turn = inner.switch_lock.lock();
        let analysed = graph::analyse(inner, &inner.store.latest_snapshot(), progress)?;
        let digests = digests::update(inner, &inner.store.latest_snapshot(), progress)?;
        Ok(AnalysisReport {
            digests_written: digests.written,
            digests_kept: digests.unchanged,
            ..analysed
        })
    }

    /// Rebuilds what is derived from the whole store and was damaged when the store was opened, now or before: the
    /// built-in embedder, the analysis of the concept graph. Costs nothing where nothing is lost. The background does
    /// the same, a moment after the store was opened; [`Database::finish`], [`Database::analyse`],
    /// [`Database::compact`] and [`Database::repair`] do it first.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; the next call goes on.
    pub fn recover(&self, progress: &dyn Progress) -> Result<(), Error> {
        let inner = self.inner();
        if !recovery::needs_recovery(&inner.store.latest_snapshot())? {
            return Ok(());
        }
        let _turn = inner.switch_lock.lock();
        recovery::recover(inner, progress)
    }

    /// Maps the many types of concepts that documents write to a few, and stores the map:
    /// [`DatabaseSnapshot::type_map`]. How many there are is set by `types_per_corpus` and `type_share_min`; a corpus
    /// is a collection.
    ///
    /// Costs a pass over all contributions to concepts.
    pub fn consolidate_types(&self, method: TypeSelection) -> Result<TypeMap, Error> {
        let map = types::consolidate_types(&self.snapshot(), method)?;
        let json = serde_json::to_string(&map).map_err(|why| Error::Setting(why.to_string()))?;
        self.write(move |tx| tx.set_internal_row(TYPE_MAP_KEY, Some(json)))?;
        Ok(map)
    }

    /// Forgets the map: types are shown as documents write them.
    pub fn clear_type_map(&self) -> Result<(), Error> {
        self.write(|tx| tx.set_internal_row(TYPE_MAP_KEY, None))
    }
}
