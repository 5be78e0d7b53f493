"""Which of five things a customer wants: data, features, training, prediction."""

INTENTS = ("complaint", "insurance_balance", "lab_report", "document_question", "other")
