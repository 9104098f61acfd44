//! The daemon `towline`: reads the command line, hands over to one command.

use std::process::ExitCode;
use towline::cli::{
    self,
    args::{self, Surroundings},
};

fn main() -> ExitCode {
    let task = match args::read(std::env::args_os(), &Surroundings::read()) {
        Ok(task) => task,
        Err(error) => {
            let code = error.exit_code();
            let _closed = error.print();
            return ExitCode::from(u8::try_from(code).unwrap_or(2));
        }
    };
    cli::execute(task)
}
