//! What makes vectors of texts: the built-in embedder ([`projector`]), models that the application brings
//! ([`external_model`]), and the model in a folder that the settings name ([`folder_model`]).

pub(crate) mod external_model;
pub(crate) mod folder_model;
pub(crate) mod projector;
