//! Flow and parameters as text (JSON), saved and loaded bit for bit.

use mcsa_core::{Error, Parametric};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Base, Flow, FlowConfig};

/// Value of `format` in every file.
const FORMAT: &str = "mcsa flow";

/// Version of the format that this code writes, and the only one that it reads.
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u64,
    flow: FlowConfig,
    #[serde(with = "mcsa_core::bits::vector")]
    params: Vec<f64>,
    /// SHA-256 of flow and parameters as they are written here.
    checksum: String,
}

/// Fields of every version, read first.
#[derive(Deserialize)]
struct Header {
    format: String,
    version: u64,
}

fn checksum(flow: &FlowConfig, params: &[f64]) -> Result<String, Error> {
    let text = serde_json::to_string(flow)
        .map_err(|error| Error::invalid(format!("a flow cannot be written: {error}")))?;
    let mut hash = Sha256::new();
    hash.update(text.as_bytes());
    params.iter().for_each(|param| hash.update(param.to_bits().to_be_bytes()));
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

impl<B: Base, const INVERTIBLE: bool> Flow<B, INVERTIBLE> {
    /// The flow and these parameters as text (JSON): format, version, config, every bit of every parameter, checksum.
    ///
    /// # Errors
    /// If `check` refuses `params`.
    pub fn save(&self, params: &[f64]) -> Result<String, Error> {
        self.check(params).map_err(|error| error.within("saving a flow"))?;
        let flow = self.config();
        let checksum = checksum(&flow, params)?;
        let file = File { format: FORMAT.into(), version: VERSION, flow, params: params.to_vec(), checksum };
        serde_json::to_string_pretty(&file)
            .map_err(|error| Error::invalid(format!("a flow cannot be written: {error}")))
    }

    /// Flow and parameters from the text that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If the text is cut off, of another format or version, changed, of a flow that cannot be built or on another base; the
    /// message names the reason.
    pub fn load(text: &str) -> Result<(Self, Vec<f64>), Error> {
        let refuse = |error: Error| error.within("reading a flow");
        let cannot = |error: serde_json::Error| {
            let advice = if error.is_eof() { ": the text is cut off, save it again" } else { "" };
            refuse(Error::invalid(format!("{error}{advice}")))
        };
        let value: serde_json::Value = serde_json::from_str(text).map_err(cannot)?;
        let header = Header::deserialize(&value).map_err(|_| {
            refuse(Error::invalid(format!(
                "the text has no format and version, expected those of {FORMAT:?}"
            )))
        })?;
        if header.format != FORMAT {
            return Err(refuse(Error::invalid(format!(
                "the format is {:?}, expected {FORMAT:?}",
                header.format
            ))));
        }
        if header.version != VERSION {
            let versions =
                format!("the version is {}, and this code reads version {VERSION}", header.version);
            return Err(refuse(Error::invalid(versions)));
        }
        let File { flow, params, checksum: written, .. } = File::deserialize(&value).map_err(cannot)?;
        if checksum(&flow, &params)? != written {
            let changed = "the checksum does not match: the text was changed after it was saved";
            return Err(refuse(Error::invalid(changed)));
        }
        let flow = Self::from_config(flow).map_err(refuse)?;
        flow.check(&params).map_err(refuse)?;
        Ok((flow, params))
    }
}
