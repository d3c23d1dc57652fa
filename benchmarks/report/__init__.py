"""The report: tables, figures and pages made from tidy rows; nothing here imports a model."""
