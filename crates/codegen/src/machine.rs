//! Functions in memory that may be run.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, default_libcall_names};

use crate::call::Call;
use crate::emit;
use crate::shape::Shape;

/// Instructions of this machine's processor.
///
/// # Errors
/// A sentence, when cranelift does not know it.
pub(crate) fn processor() -> Result<OwnedTargetIsa, String> {
    let builder = cranelift_native::builder().map_err(str::to_owned)?;
    let flags = flags().map_err(|error| error.to_string())?;
    builder.finish(flags).map_err(|error| error.to_string())
}

/// Flags of all code.
pub(crate) fn flags() -> Result<settings::Flags, settings::SetError> {
    let mut flags = settings::builder();
    flags.set("opt_level", "speed")?;
    flags.set("is_pic", "false")?;
    flags.set("use_colocated_libcalls", "false")?;
    flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
    Ok(settings::Flags::new(flags))
}

/// Memory of some functions; they are gone when it is dropped.
struct Memory(ManuallyDrop<JITModule>);

// SAFETY: nothing reads or changes the module between its making, by one thread, and its drop,
// which has it alone; functions are read and run only.
unsafe impl Send for Memory {}
// SAFETY: as above: `&Memory` gives access to nothing.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here.
        let module = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: each `Unit` keeps the memory of its function, so none is left that could run.
        unsafe { module.free_memory() };
    }
}

/// A function of a shape.
pub(crate) struct Unit {
    entry: unsafe extern "C" fn(*const Call),
    _memory: Arc<Memory>,
}

impl Unit {
    /// Runs it.
    ///
    /// # Safety
    /// All that the function's shape reads and writes through `call` lies in memory of the types
    /// that `emit` says, and nobody else writes what it reads, or uses what it writes, meanwhile.
    pub(crate) unsafe fn run(&self, call: &Call) {
        // SAFETY: `entry` is code of this signature, which `_memory` keeps; the rest is the
        // caller's promise.
        unsafe { (self.entry)(call) }
    }
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unit").finish_non_exhaustive()
    }
}

/// The functions of `shapes`, in order.
///
/// # Errors
/// A sentence, when cranelift refuses one or there is no memory.
pub(crate) fn make(isa: &OwnedTargetIsa, shapes: &[&Shape]) -> Result<Vec<Arc<Unit>>, String> {
    let builder = JITBuilder::with_isa(isa.clone(), default_libcall_names());
    let mut module = JITModule::new(builder);
    let mut context = module.make_context();
    let mut reused = FunctionBuilderContext::new();
    let mut ids = Vec::new();
    for shape in shapes {
        prepare(&mut context, &module, shape, &mut reused);
        let signature = &context.func.signature;
        let id = module.declare_anonymous_function(signature).map_err(|error| error.to_string())?;
        module.define_function(id, &mut context).map_err(|error| format!("{error:?}"))?;
        module.clear_context(&mut context);
        ids.push(id);
    }
    module.finalize_definitions().map_err(|error| error.to_string())?;
    let entries: Vec<*const u8> =
        ids.into_iter().map(|id| module.get_finalized_function(id)).collect();
    let memory = Arc::new(Memory(ManuallyDrop::new(module)));
    let units = entries.into_iter().map(|entry| {
        // SAFETY: the function was declared with one address as its argument and no result, in the
        // calling convention of C.
        let entry =
            unsafe { std::mem::transmute::<*const u8, unsafe extern "C" fn(*const Call)>(entry) };
        Arc::new(Unit { entry, _memory: Arc::clone(&memory) })
    });
    Ok(units.collect())
}

fn prepare(
    context: &mut Context,
    module: &JITModule,
    shape: &Shape,
    reused: &mut FunctionBuilderContext,
) {
    context.func.signature = module.make_signature();
    context.func.signature.params.push(AbiParam::new(types::I64));
    emit::emit(shape, module.target_config(), &mut context.func, reused);
}
