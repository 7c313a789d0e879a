//! Uploads: folders that are sent as a tar, instead of a repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::text::absent_when_empty;
use crate::{ApplicationName, Text, Timestamp, Whole};

/// As many bytes as the largest value of the setting `upload-mib` allows.
type Bytes = Whole<1, 1_099_511_627_776>;
type BytesBefore = Whole<0, 1_099_511_627_776>;

/// A tar of a folder, as far as it was received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Upload {
    pub id: Uuid,
    pub application_id: Uuid,
    /// How many bytes were received. The next part begins here.
    pub offset: i64,
    /// How many there will be.
    pub size: i64,
    /// Of the whole tar, in hexadecimal digits; empty if the client did not say.
    pub sha256: String,
    /// What was made of it; null until all was received.
    pub deployment_id: Option<Uuid>,
    pub created_at: Timestamp,
    /// When it is forgotten, complete or not.
    pub expires_at: Timestamp,
}

/// Either `application_id` or `name`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UploadQuery {
    /// The application to deploy. Its `repository` is `push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_id: Option<Uuid>,
    /// The same by its name. It is made if there is none.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub name: Option<ApplicationName>,
    /// The size of the tar in bytes: it will be sent in parts. Without it, the body is the whole tar.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Of the tar, in hexadecimal digits. Required with `size`.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Text<64, 64>>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UploadPartQuery {
    /// How many bytes come before this part: the `offset` of the upload. Default: 0.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub offset: Option<BytesBefore>,
}
